package contender

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stockapi/internal/lock"
)

// All lists the contenders: every rung that needs nothing but Redis, some of them also over automatic pipelining, the
// peers, and the limits.
func All() (list []Contender) {
	for _, r := range lock.Ladder() {
		if onRedisAlone(r) {
			list = append(list, rungContender(r))
		}
	}
	for _, r := range lock.Ladder() {
		if slices.Contains(compared, r.Number) {
			list = append(list, pipelinedRung(r))
		}
	}
	return append(list, redsyncContender, redislockContender, rueidislockContender, redissonContender,
		spinContender, pipelinedContender, mutexContender, aloneContender)
}

// redissonContender runs in a process of its own kind; package fleet starts it.
var redissonContender = Contender{Name: "redisson", Kind: Peer, JVM: true,
	About: "Redisson's RLock on the JVM: lock(), renewed by its watchdog; waiters are woken by a message"}

// compared are the rungs that run by default. Those from v18 on join by their number.
var compared = []string{"v4", "v5", "v5.5", "v7", "v8", "v15"}

// Default lists the contenders that run unless others are named.
func Default() (list []Contender) {
	for _, c := range All() {
		rung := strings.TrimSuffix(c.Name, pipelinedSuffix)
		if c.Kind != Ours || slices.Contains(compared, rung) || isForHotProducts(c.Name) {
			list = append(list, c)
		}
	}
	return list
}

// isForHotProducts reports whether a rung is v18 or a later one without a suffix: v18, but not v18-exhibit.
func isForHotProducts(rung string) bool {
	number, err := strconv.ParseFloat(strings.TrimPrefix(rung, "v"), 64)
	return err == nil && number >= 18
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
