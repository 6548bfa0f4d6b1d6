"""Settings of all tests."""

from hypothesis import settings

# The first example that a test sees may have to wait for numba's compiler.
settings.register_profile('izmp_dynamics', deadline=None)
settings.load_profile('izmp_dynamics')
