"""How a large store comes about, for `make_large_store.py`.

* `wanted` says what the store must be like: its size, its age, the words planted in it;
* `prose` draws endless text from a `vocabulary`;
* `plan` decides which sessions there are (`session`) and `naming` gives them titles and ids;
* `session_rows` and `message_rows` turn the plan into rows;
* `writing` puts the rows into a store of Hermes' making and builds the search indexes;
* `checks` compares the result with what was wanted.

All of them draw from one random generator, in a fixed order: to draw once more, once less or
elsewhere makes another store, and figures measured on different stores cannot be compared.
"""
