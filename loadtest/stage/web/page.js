// What the two pages of the stage share: words, names and colours, and the link to the server. All texts are set as
// textContent, so that no name and no Redis command is ever markup.

export const byId = (id) => document.getElementById(id);
export const page = document.body;
export const letters = ["S", "E", "R", "L"]; // the verdicts that a class votes on
export const words = await (await fetch("/words.json")).json();

// w returns a visible text, with values in place of its {names}.
export const w = (key, values = {}) => (words[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

// nameOf returns what the class calls an order or a person: fox, or fox-2 for the second order of the fox.
export const nameOf = (order) => order.replace(/^[a-z]+/, (person) => words[`animal.${person}`] ?? person);
export const namesOf = (orders) => new Intl.ListFormat(words.lang).format(orders.map(nameOf));

// colourOf returns the class of a person's colour. Anna and Bert are of the house, and have no number.
export const colourOf = (colour) => ({ "-1": "anna", "-2": "bert" })[colour] ?? `p${colour}`;

export function make(tag, className, ...children) {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...children);
  return made;
}

// put sets a text only if it differs, so that a screen reader is not told twice.
export function put(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

function showLink(on) {
  byId("link").className = on ? "on" : "off";
  put("link", w(on ? "link.on" : "link.off"));
}

// complain shows an error for some seconds.
export function complain(text) {
  put("error", text);
  byId("error").hidden = false;
  clearTimeout(complain.timer);
  complain.timer = setTimeout(() => { byId("error").hidden = true; }, 6000);
}

// send posts, and returns the answer, of which it shows a refusal. It tries again if the network fails.
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

// listen hears a stream of events for ever, and returns what opens it anew. A stream that is silent for 12 s is dead:
// the server sends a heartbeat each 5 s. One that opens and brings nothing is held back on its way.
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

// attempt keeps an error in one event or panel from stopping all others.
export function attempt(work) {
  try {
    return work();
  } catch (err) {
    console.error(err);
  }
}

byId("script").remove(); // it runs
document.documentElement.lang = words.lang;
document.title = w(`title.${page.dataset.page}`);
for (const at of document.querySelectorAll("[data-word]")) at.textContent = w(at.dataset.word);
for (const at of document.querySelectorAll("[data-label]")) at.setAttribute("aria-label", w(at.dataset.label));
showLink(false);
