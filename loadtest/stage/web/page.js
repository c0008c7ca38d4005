// The parts that both pages of the stage share: words, names, colours, and the link to the server. All texts are set as
// textContent, so that names and Redis commands are never parsed as markup.

export const byId = (id) => document.getElementById(id);
export const page = document.body;
export const letters = ["S", "E", "R", "L"]; // of the verdicts that a class votes on
export const words = await (await fetch("/words.json")).json();

// w returns a text of the page, with values in place of its {names}.
export const w = (key, values = {}) => (words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

// nameOf returns the display name of an order or a person: fox, or fox-2 for the second order of the fox.
export const nameOf = (order) => order.replace(/^[a-z]+/, (person) => words[`animal.${person}`] ?? person);
export const namesOf = (orders) => new Intl.ListFormat(words.lang).format(orders.map(nameOf));

// colourOf returns the CSS class of a person's colour. Anna and Bert have classes of their own.
export const colourOf = (colour) => ({ "-1": "anna", "-2": "bert" })[colour] ?? `p${colour}`;

export function make(tag, className, ...children) {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...children);
  return made;
}

// put sets a text only if it has changed, so that a screen reader does not repeat it.
export function put(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function showLink(on) {
  byId("link").className = on ? "on" : "off";
  put("link", w(on ? "link.on" : "link.off"));
}

// complain shows an error for a few seconds.
export function complain(text) {
  put("error", text);
  byId("error").hidden = false;
  clearTimeout(complain.timer);
  complain.timer = setTimeout(() => { byId("error").hidden = true; }, 6000);
}

// send posts a body, shows an error if the server refuses it, and returns the answer. It retries if the network fails.
export async function send(path, body, tries = 1) {
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) {
      const { error } = await answer.json().catch(() => ({}));
      complain(error ?? w(`refused.${answer.status}`));
    }
    return answer;
  } catch {
    if (tries === 1) return complain(w("link.off"));
    await new Promise((done) => setTimeout(done, 700));
    return send(path, body, tries - 1);
  }
}

// listen keeps reading a stream of events, and returns a function that reopens it. A stream that is silent for 12 s is
// dead: the server sends a heartbeat every 5 s. If none ever arrives, a proxy buffers the stream.
export function listen(address, heard, refused) {
  let source, timer, failures = 0, isHeld = setTimeout(() => put("link", w("link.held")), 10000);
  const openAfter = (ms) => { clearTimeout(timer); timer = setTimeout(open, ms); };
  const open = () => {
    source?.close();
    source = new EventSource(address());
    openAfter(12000);
    source.onmessage = (e) => {
      failures = 0;
      clearTimeout(isHeld);
      openAfter(12000);
      showLink(true);
      heard(JSON.parse(e.data));
    };
    source.onerror = () => {
      const closed = source.readyState === EventSource.CLOSED;
      source.close();
      showLink(false);
      openAfter(failures++ < 1 ? 1000 : failures < 3 ? 2000 : 3000);
      if (closed) refused?.();
    };
  };
  open();
  return open;
}

// attempt keeps an error in one event or panel from stopping the others.
export function attempt(work) {
  try {
    return work();
  } catch (err) {
    console.error(err);
  }
}

byId("script").remove(); // the warning that scripts do not run
document.documentElement.lang = words.lang;
document.title = w(`title.${page.dataset.page}`);
for (const at of document.querySelectorAll("[data-word]")) at.textContent = w(at.dataset.word);
for (const at of document.querySelectorAll("[data-label]")) at.setAttribute("aria-label", w(at.dataset.label));
showLink(false);
