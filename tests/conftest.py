from hypothesis import HealthCheck, settings

# Speed is measured in benchmarks, never asserted by a test.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")
