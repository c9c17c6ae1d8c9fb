"""How the sample store comes about, for `make_demo.py`.

The conversations are plain text, one a file, below `scripts`. From there it goes one way:

* `script` reads a text as messages, with `tool_calls` and `picture` for what is not just said;
* `scenes` lists the sessions: which script, held when and where, by whom and at what cost;
* `calls` turns scenes into the calls of Hermes' store that write them;
* `writing` lets a real Hermes carry the calls out;
* `checks` compares what came out with the scenes and with Hermes' own list.
"""
