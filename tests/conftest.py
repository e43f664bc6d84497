import signal

from hypothesis import HealthCheck, settings

# Speed is measured in benchmarks, never asserted by a test.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# A job in the background of a shell ignores Ctrl-C, and so would everything that it starts: the tests are about those who don't.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
