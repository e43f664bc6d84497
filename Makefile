# Every target sets up what it needs in .venv and needs nothing but Python 3.11+, pip and make.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
# What samples begin at: as many days in a row as there are parts take everything, and DAY=N repeats one.
DAY ?= $(shell expr $$(date +%s) / 86400)
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check

.PHONY: browser languages check check-sample check-legacy check-legacy-sample check-mlx check-vllm check-sglang check-tuning check-keras reliability soak soak-sample accuracy accuracy-sample test test-whole durations test-gpu site style vectors vectors-check vectors-matrix convictions convictions-check pages pages-check mistakes bench seeds released released-sample released-mlx mutation mutation-sample narrow narrow-sample peers wheel-check dist clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*##/:/' | column -t -s:

check: $(VENV)/.runtime ## judge the NumPy examples and every bundled adapter whose library is installed
	$(RUN) examples/run.py

check-sample: $(VENV)/.runtime ## a twelfth of what the targets with many operations offer, and all of the others
	$(RUN) examples/run.py --every 12 --sample-seed $(DAY)

check-legacy: .venvs/transformers4/.peers ## judge the schemes that only transformers 4.57 has, in an environment of its own
	.venvs/transformers4/bin/python examples/run.py transformers4

check-legacy-sample: .venvs/transformers4/.peers ## a half of it
	.venvs/transformers4/bin/python examples/run.py transformers4 --every 2 --sample-seed $(DAY)

check-mlx: .venvs/mlx/.peers ## judge MLX's own layers and what mlx-lm makes of rules and of a configuration, in an environment of their own
	.venvs/mlx/bin/python examples/run.py mlx mlx_lm llama-3.1-8b.json:mlx_lm

check-vllm: .venvs/vllm/.peers ## judge the rotations of vLLM's Python part, in an environment of its own (2.4 GB)
	.venvs/vllm/bin/python examples/run.py vllm llama-3.1-8b.json:vllm

check-tuning: .venvs/tuning/.peers ## judge the rotations of torchtune and litgpt, in an environment of their own (1.5 GB)
	.venvs/tuning/bin/python examples/run.py torchtune litgpt

check-sglang: .venvs/sglang/.peers ## judge the rotations of SGLang's Python part, and what its models make of configurations, in an environment of its own (2.6 GB)
	.venvs/sglang/bin/python examples/run.py sglang llama-3.1-8b.json:sglang gemma-3-27b.json:sglang

check-keras: .venvs/keras/.peers ## judge keras-hub's layers and what its models do of their own, in an environment of its own (1.2 GB)
	.venvs/keras/bin/python examples/run.py keras_hub llama-3.1-8b.json:keras_hub qwen3-8b-yarn.json:keras_hub

# The tests start hundreds of processes, each of which would compile everything again.
test test-whole durations: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.test ## pass the tests; of some a sample, which they print first
	$(RUN) -m pytest -n 2 --dist loadfile --sample-seed $(DAY)

test-whole: $(VENV)/.test ## pass all tests
	$(RUN) -m pytest -n 2 --dist loadfile --whole

durations: $(VENV)/.test ## pass all tests and write how long those of each function take, by which they are sampled
	$(RUN) -m pytest -n 2 --dist loadfile --whole --junitxml build/durations.xml
	$(RUN) -m tools.durations build/durations.xml

test-gpu: ## reference and vectors on CuPy, torch and JAX, on whatever GPU is there
	$${GPU_PYTHON:-python3} -m tools.gpu

reliability: $(VENV)/.peers $(VENV)/.test ## commit every fault of tools/faults and write docs/reliability.md
	$(RUN) -m tools.reliability

soak: $(VENV)/.test ## fuzz what is read, kill what writes, and write the record of it
	$(RUN) -m tools.soak --record docs/soak.md

soak-sample: $(VENV)/.test ## a twentieth of it, without a record
	$(RUN) -m tools.soak --scale 0.05 --seed $(DAY)

site: .venvs/site/.site ## write the documents as a site into build/site, to be opened without a network
	rm -rf build/api build/doctrees build/site
	.venvs/site/bin/python -m sphinx -q -W --keep-going -d build/doctrees -c tools/site . build/site
	cp build/site/README.html build/site/index.html

style: $(VENV)/.style ## ruff and mypy
	$(RUN) -m ruff check .
	$(RUN) -m mypy

vectors: $(VENV)/.test ## write the golden vectors
	$(RUN) -m tools.generate

vectors-check: $(VENV)/.test ## compare the golden vectors with a fresh generation, byte for byte
	$(RUN) -m tools.generate --check

convictions: $(VENV)/.test ## write which golden case convicts each known mistake, or name what that would lose
	$(RUN) -m tools.convictions

convictions-check: $(VENV)/.test ## compare the convictions with a fresh computation, of which the tests do a half
	$(RUN) -m tools.convictions --check

vectors-matrix: $(VENV)/.test ## the same under every Python found and two versions of NumPy
	$(RUN) -m tools.matrix

narrow: $(VENV)/.test ## put every known mistake in the place of code that declares little, and write the record of it
	$(RUN) -m tools.narrow --jobs 2 --record docs/narrow.md

narrow-sample: $(VENV)/.test ## a fortieth of it, without a record
	$(RUN) -m tools.narrow --jobs 2 --sample 1/40 --sample-seed $(DAY)

mutation: $(VENV)/.test ## change the reference everywhere, see that the suite convicts every change, and write the record of it
	$(RUN) -m tools.mutation --record docs/mutation.md

mutation-sample: $(VENV)/.test ## a tenth of it, without a record
	$(RUN) -m tools.mutation --sample 1/10 --sample-seed $(DAY)

pages: $(VENV)/.test ## write the pages, pictures and tables that are made from the declarations
	$(RUN) -m tools.pages
	$(RUN) -m tools.properties
	$(RUN) -m tools.mistakes
	$(RUN) -m tools.readme

pages-check: $(VENV)/.test ## compare them with a fresh generation
	$(RUN) -m tools.pages --check
	$(RUN) -m tools.properties --check
	$(RUN) -m tools.mistakes --check
	$(RUN) -m tools.readme --check

mistakes: $(VENV)/.test ## write the pages of known mistakes
	$(RUN) -m tools.mistakes

bench: $(VENV)/.test ## print what the harness costs on this machine
	$(RUN) -m tools.bench

accuracy: $(VENV)/.test ## hide every known mistake, count how often it is named, and write the record of it
	$(RUN) -m tools.accuracy --jobs 2 --held-out 1/4 --record docs/accuracy.md

accuracy-sample: $(VENV)/.test ## a fortieth of it, without a record
	$(RUN) -m tools.accuracy --jobs 2 --sample 1/40 --sample-seed $(DAY) --held-out 1/4

seeds: $(VENV)/.peers .venvs/transformers4/.peers ## judge the bundled adapters under 50 Hypothesis seeds and list every conviction
	$(RUN) -m tools.seeds --count 50 numpy array_api_strict ggml equinox transformers
	.venvs/transformers4/bin/python -m tools.seeds --count 50 transformers4

released: $(VENV)/.peers ## judge what transformers makes of released models' configurations, and write docs/released.md
	$(RUN) -m tools.released transformers

released-sample: $(VENV)/.peers ## a sixtieth of it, compared with docs/released.md
	$(RUN) -m tools.released transformers --sample 1/60 --sample-seed $(DAY)

released-mlx: .venvs/mlx/.peers ## the same of mlx-lm, into docs/released-mlx_lm.md
	.venvs/mlx/bin/python -m tools.released mlx_lm

peers: $(VENV)/.peers ## install the libraries behind the bundled adapters (torch, transformers, JAX, equinox, ggml)

browser: ## install the system's Chromium, in which the tests open the HTML report; needs root and apt, else those tests are skipped
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null; } || \
	  echo "posenc: no Chromium could be installed; the browser tests will be skipped"

languages: ## install the system's C compiler and Node, with which the examples of the line protocol are judged; needs root and apt, else those tests are skipped
	@command -v gcc >/dev/null && command -v node >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends gcc libc6-dev nodejs >/dev/null; } || \
	  echo "posenc: no C compiler or Node could be installed; the tests of the examples will be skipped"

wheel-check: $(VENV)/.runtime ## build the wheel, install it elsewhere, and use it outside the repository
	$(RUN) -m tools.wheel

dist: $(VENV)/.runtime ## do the same and write the wheel into dist; with TAG=vN only if N is the version
	$(RUN) -m tools.wheel --into dist $(if $(TAG),--tag "$(TAG)")

clean: ## remove the environments
	rm -rf $(VENV) .venvs

$(VENV)/.runtime: pyproject.toml
	@test -n "$(PYTHON)" || { echo "posenc: Python must be 3.11 or newer, got none on PATH"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) "pip>=25.1"
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.runtime
	$(INSTALL) --group test
	@touch $@

$(VENV)/.style: $(VENV)/.test
	$(INSTALL) --group style
	@touch $@

$(VENV)/.peers: $(VENV)/.runtime
	$(INSTALL) torch==2.13.0
	$(INSTALL) --editable ".[transformers,equinox,ggml]"
	@touch $@

.venvs/site/.site: pyproject.toml
	$(PYTHON) -m venv .venvs/site
	.venvs/site/bin/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	.venvs/site/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group site
	@touch $@

.venvs/transformers4/.peers: pyproject.toml
	$(PYTHON) -m venv .venvs/transformers4
	.venvs/transformers4/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venvs/transformers4/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[transformers4]"
	@touch $@

.venvs/mlx/.peers: pyproject.toml
	$(PYTHON) -m venv .venvs/mlx
	.venvs/mlx/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[mlx-lm]"
	@touch $@

.venvs/tuning/.peers: pyproject.toml
	$(PYTHON) -m venv .venvs/tuning
	.venvs/tuning/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venvs/tuning/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[torchtune,litgpt]"
	@touch $@

# Its wheel asks for TensorFlow, which nothing here needs.
.venvs/keras/.peers: pyproject.toml
	$(PYTHON) -m venv .venvs/keras
	.venvs/keras/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venvs/keras/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[keras-hub]"
	.venvs/keras/bin/python -m pip install --quiet --disable-pip-version-check --no-deps keras-hub==0.32.0
	@touch $@

# Its wheel asks for CUDA and another torch.
.venvs/sglang/.peers: pyproject.toml
	$(PYTHON) -m venv .venvs/sglang
	.venvs/sglang/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venvs/sglang/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[sglang]"
	.venvs/sglang/bin/python -m pip install --quiet --disable-pip-version-check --no-deps sglang==0.5.23
	@touch $@

# Its wheel asks for CUDA and another torch: only its Python files are taken.
.venvs/vllm/.peers: pyproject.toml
	$(PYTHON) -m venv .venvs/vllm
	.venvs/vllm/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venvs/vllm/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[vllm]"
	rm -rf .venvs/vllm/wheel
	.venvs/vllm/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest .venvs/vllm/wheel vllm==0.33.0
	cd .venvs/vllm/lib/python3*/site-packages && ../../../bin/python -c "import glob, zipfile; archive = zipfile.ZipFile(*glob.glob('../../../wheel/*.whl')); \
	  archive.extractall(members=[name for name in archive.namelist() if name.endswith(('.py', '/METADATA'))])"
	rm -rf .venvs/vllm/wheel
	@touch $@
