// Package shop knows a service on trial: how it is started, how a unit is ordered there, and where its stock is. It
// knows nothing of locks.
//
//   - shop.go: a shop, and the options that describe it. request.go: requests and headers. mask.go: hides headers.
//   - pair.go: two instances with a proxy of Redis each: started, watched and closed; their stock put and counted.
//   - order.go: an order of a unit, its answer and outcome.
//   - shell.go: the user's shell commands, which put and count a stock outside Redis: its writes are not observed.
package shop
