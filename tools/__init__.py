"""The oracle, the generator and the jobs that people and CI run in a checkout."""
