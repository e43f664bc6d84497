"""The checks of one implementation in one dtype: stored vectors, drawn calls, laws, manners; and whether they are evidence enough."""
