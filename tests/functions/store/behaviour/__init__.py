"""What a checkpointer has to do, as functions that run against any: LangGraph's own, ours, and in `tests.bench.behaviour` others.

A behaviour is a public function of one of the modules here with one parameter, a `stores.Store`; it asserts, its docstring is the claim.
"""
