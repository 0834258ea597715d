"""Many agents at once: workers in processes of their own, one supervisor that holds them to one budget, git between.

Nothing here is imported before somebody speaks of a swarm.
"""
