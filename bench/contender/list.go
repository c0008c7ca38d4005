package contender

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/internal/lock"
)

// All lists the contenders: every rung that needs nothing but Redis, the peers, and the limits.
func All() (list []Contender) {
	for _, r := range lock.Ladder() {
		if onRedisAlone(r) {
			list = append(list, rungContender(r))
		}
	}
	return append(list, redsyncContender, redislockContender, rueidislockContender, redissonContender, spinContender,
		mutexContender, aloneContender)
}

// redissonContender runs in a process of its own kind; the program starts it.
var redissonContender = Contender{Name: "redisson", Kind: Peer, JVM: true,
	About: "Redisson's RLock on the JVM: lock(), renewed by its watchdog; waiters are woken by a message"}

// Default lists the contenders that run unless others are named.
func Default() []Contender {
	rungs := []string{"v4", "v5", "v5.5", "v7", "v8", "v15", "v18", "v19"}
	return slices.DeleteFunc(All(), func(c Contender) bool { return c.Kind == Ours && !slices.Contains(rungs, c.Name) })
}

// Find returns the contenders with those names, in the order of All.
func Find(names []string) (list []Contender, err error) {
	var known []string
	for _, c := range All() {
		known = append(known, c.Name)
		if slices.Contains(names, c.Name) {
			list = append(list, c)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no contender %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return list, nil
}
