// 300 buyers for a stock of 100, as a k6 scenario, with a line for each answer that `loadtest audit --answers` judges:
//
//   k6 run -e TARGETS=http://127.0.0.1:5000,http://127.0.0.1:5010 -e RUNG=v0 \
//     --console-output answers.jsonl --log-format raw examples/k6.js
//   loadtest audit --answers --stock 100 --orders 300 answers.jsonl
//
// k6 appends to a file that is there: take a new one for each run.
import exec from "k6/execution";
import http from "k6/http";
import { Gauge } from "k6/metrics";

const targets = (__ENV.TARGETS || "http://127.0.0.1:5000").split(",");
const rung = __ENV.RUNG || "v0";
const product = __ENV.PRODUCT || "k6";
const stock = Number(__ENV.STOCK || 100);
const buyers = Number(__ENV.BUYERS || 300);
const vus = Math.min(buyers, Number(__ENV.VUS || 50));
const left = new Gauge("stock_left");
const headers = __ENV.ADMIN_TOKEN ? { Authorization: `Bearer ${__ENV.ADMIN_TOKEN}` } : {};

export const options = {
  scenarios: { rush: { executor: "shared-iterations", vus, iterations: buyers, maxDuration: "2m" } },
};

export function setup() {
  const put = http.put(`${targets[0]}/stock/${product}`, JSON.stringify({ quantity: stock }), { headers });
  if (put.status < 200 || put.status >= 300) {
    exec.test.abort(`the stock cannot be set: ${put.status} ${put.body || put.error}`);
  }
}

export default function () {
  const i = exec.scenario.iterationInTest; // of all generators, if the run has several
  const url = `${targets[i % targets.length]}/${rung}/decrease?product=${product}&wait=20s&ttl=30s&work=1ms&trace=true`;
  const order = `k6-${i}`;
  const sent = new Date();
  const answer = http.post(url, null, { headers: { "X-Request-ID": order }, timeout: "30s" });
  const received = answer.status ? new Date() : undefined; // status 0: no answer
  console.log(JSON.stringify({ sent, received, status: answer.status, body: answer.body, order }));
}

export function teardown() {
  left.add(http.get(`${targets[0]}/stock/${product}`).json("quantity")); // the summary shows it, for --left
}
