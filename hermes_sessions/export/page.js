"use strict";
(() => {
  const root = document.documentElement;
  const KEY = "hermes-sessions-theme";
  const MOST_RANGES = 2000;
  const stored = (act) => { try { return act(window.localStorage); } catch { return null; } };

  const theme = stored((storage) => storage.getItem(KEY));
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;

  document.addEventListener("DOMContentLoaded", () => {
    const byId = (id) => document.getElementById(id);
    const all = (selector, within = document) => [...within.querySelectorAll(selector)];
    const query = byId("query");
    for (const part of all(".tools > [hidden]")) part.hidden = false;

    // Light and dark, words only, everything unfolded.
    byId("theme").addEventListener("click", () => {
      const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      stored((storage) => storage.setItem(KEY, root.dataset.theme));
    });
    const setWords = (on) => {
      document.body.classList.toggle("words", on);
      byId("words").setAttribute("aria-pressed", String(on));
    };
    byId("words").addEventListener("click", () => setWords(!document.body.classList.contains("words")));
    byId("unfold").addEventListener("click", () => {
      const open = byId("unfold").getAttribute("aria-pressed") !== "true";
      byId("unfold").setAttribute("aria-pressed", String(open));
      for (const details of all("main details")) details.open = open;
    });

    // Showing a place: unfold what it is in.
    const reveal = (node) => {
      const element = node instanceof Element ? node : node.parentElement;
      for (let at = element.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
      if (!element.checkVisibility()) setWords(false);
    };
    const showTarget = () => {
      const target = /^#[mc]\d+$/.test(location.hash) && byId(location.hash.slice(1));
      if (!target) return;
      reveal(target);
      for (const details of all(":scope > .call:only-of-type", target)) details.open = true;
      target.scrollIntoView();
    };
    addEventListener("hashchange", showTarget);
    showTarget();

    // Search: messages that hold the text, one after the other.
    let texts = null;
    let hits = [];
    let at = -1;
    const lower = (text) => {
      const folded = text.toLowerCase();
      return folded.length === text.length ? folded : text;
    };
    const load = () => {
      texts ??= all(".message").map((message) => ({ message, text: lower(message.textContent) }));
    };
    /** The places of a text in a message, also across elements (coloured code). */
    const rangesIn = (message, sought) => {
      const walker = document.createTreeWalker(message, NodeFilter.SHOW_TEXT, (node) =>
        node.parentElement.closest(".anchor") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
      const nodes = [];
      let whole = "";
      while (walker.nextNode()) {
        nodes.push({ node: walker.currentNode, start: whole.length });
        whole += lower(walker.currentNode.data);
      }
      const ranges = [];
      let first = 0;
      for (let place = whole.indexOf(sought); place >= 0; place = whole.indexOf(sought, place + sought.length)) {
        const end = place + sought.length;
        while (first + 1 < nodes.length && nodes[first + 1].start <= place) first += 1;
        let last = first;
        while (last + 1 < nodes.length && nodes[last + 1].start < end) last += 1;
        const range = document.createRange();
        range.setStart(nodes[first].node, place - nodes[first].start);
        range.setEnd(nodes[last].node, end - nodes[last].start);
        ranges.push(range);
      }
      return ranges;
    };
    const highlight = (name, ranges) => {
      if (window.Highlight && CSS.highlights) CSS.highlights.set(name, new Highlight(...ranges));
    };
    const count = () => {
      const noun = hits.length === 1 ? "message" : "messages";
      byId("hits").textContent = at < 0 ? `${hits.length} ${noun}` : `${at + 1} of ${hits.length}`;
    };
    const search = () => {
      const sought = lower(query.value.trim());
      load();
      for (const found of all(".hit-now")) found.classList.remove("hit-now");
      hits = sought ? texts.filter((entry) => entry.text.includes(sought)) : [];
      at = -1;
      const ranges = [];
      for (const hit of hits) {
        if (ranges.length > MOST_RANGES) break;
        for (const range of rangesIn(hit.message, sought)) ranges.push(range);
      }
      highlight("found", ranges);
      highlight("found-now", []);
      count();
      root.toggleAttribute("data-searching", sought !== "" || document.activeElement === query);
      if (!sought) byId("hits").textContent = "";
    };
    /** The first hit below the top of the view, so that a search starts where one reads. */
    const firstBelow = () => {
      let low = 0;
      let high = hits.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (hits[middle].message.getBoundingClientRect().bottom < 60) low = middle + 1;
        else high = middle;
      }
      return low % hits.length;
    };
    const go = (step) => {
      if (!hits.length) return;
      hits[at]?.message.classList.remove("hit-now");
      at = at < 0 ? firstBelow() : (at + step + hits.length) % hits.length;
      const { message } = hits[at];
      const ranges = rangesIn(message, lower(query.value.trim()));
      for (const range of ranges) reveal(range.startContainer);
      highlight("found-now", ranges);
      message.classList.add("hit-now");
      const place = ranges[0]?.startContainer.parentElement ?? message;
      place.scrollIntoView({ block: "center" });
      count();
    };
    let waiting = 0;
    query.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { waiting = 0; search(); }, 150);
    });
    query.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        if (waiting) { clearTimeout(waiting); waiting = 0; search(); }
        go(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        closeFind();
      }
    });
    const openFind = () => {
      root.setAttribute("data-searching", "");
      query.focus();
      query.select();
    };
    const closeFind = () => {
      query.value = "";
      query.blur();
      search();
    };
    query.addEventListener("focus", () => root.setAttribute("data-searching", ""));
    query.addEventListener("blur", () => setTimeout(() => {
      if (!query.value && document.activeElement !== query) root.removeAttribute("data-searching");
    }, 100));
    byId("open-find").addEventListener("click", openFind);
    byId("close-find").addEventListener("click", closeFind);
    byId("next").addEventListener("click", () => go(1));
    byId("previous").addEventListener("click", () => go(-1));

    // j and k go from turn to turn.
    const turns = all(".turn");
    const numbers = new Map(turns.map((turn, number) => [turn, number]));
    let current = null;
    const reading = () => {
      const box = current?.getBoundingClientRect();
      if (box && box.bottom > 0 && box.top < innerHeight) return numbers.get(current);
      const middle = document.querySelector(".turns").getBoundingClientRect();
      const under = document.elementFromPoint(middle.left + middle.width / 2, 90)?.closest(".turn");
      return under ? numbers.get(under) : -1;
    };
    const step = (by) => {
      const turn = turns[Math.min(turns.length - 1, Math.max(0, reading() + by))];
      if (!turn) return;
      current?.classList.remove("current");
      current = turn;
      current.classList.add("current");
      current.scrollIntoView({ block: "start" });
    };
    addEventListener("keydown", (event) => {
      const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") { event.preventDefault(); openFind(); }
      else if (event.key === "j") step(1);
      else if (event.key === "k") step(-1);
    });

    // The contents show which conversation one reads.
    const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
    if (links.size) {
      const seen = new IntersectionObserver((entries) => {
        for (const entry of entries) {
          if (!entry.isIntersecting) continue;
          for (const link of links.values()) link.removeAttribute("aria-current");
          links.get(entry.target.id)?.setAttribute("aria-current", "true");
        }
      }, { rootMargin: "-80px 0px -80% 0px" });
      for (const article of all(".conversation")) seen.observe(article);
    }
  });
})();
