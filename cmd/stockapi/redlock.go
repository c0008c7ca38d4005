package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
)

// identifyTime bounds how long the start waits for Redlock nodes to identify themselves.
const identifyTime = 500 * time.Millisecond

// independent checks that --redlock names no server twice. A second SET NX on the same server is refused because of the
// first, so such a lock can never be acquired, and a majority of votes of one server means nothing. Servers are
// compared by their addresses, their run IDs, and a key that the first node on a server keeps from the others. A node
// that does not answer does not stop the start.
func independent(ctx context.Context, urls []string, nodes []redis.UniversalClient) error {
	if len(nodes) < 2 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	identities := make([][]string, len(nodes))
	var all sync.WaitGroup
	key := "stockapi:node:" + rand.Text()
	for i := range nodes {
		all.Go(func() {
			identities[i] = append(addresses(ctx, urls[i]), runID(ctx, nodes[i])...)
			identities[i] = append(identities[i], firstNode(ctx, nodes[i], key, fmt.Sprint("node ", i))...)
		})
	}
	all.Wait()
	for _, node := range nodes {
		_ = node.Del(ctx, key) // or its TTL ends it
	}
	for i := range nodes {
		for j := range i {
			if slices.ContainsFunc(identities[i], func(id string) bool { return slices.Contains(identities[j], id) }) {
				return fmt.Errorf("--redlock names one server twice, as node %d (%s) and node %d (%s): name servers that are "+
					"independent of each other, or none to use the lock Redis alone: %w",
					j+1, backend.Address(urls[j]), i+1, backend.Address(urls[i]), errUsage)
			}
		}
	}
	return nil
}

// addresses returns the addresses of a URL, with its host's name resolved if possible.
func addresses(ctx context.Context, raw string) []string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "unix" {
		return []string{raw}
	}
	host, port := cmp.Or(strings.ToLower(u.Hostname()), "localhost"), cmp.Or(u.Port(), "6379")
	hosts, _ := net.DefaultResolver.LookupHost(ctx, host)
	var all []string
	for _, one := range append(hosts, host) {
		all = append(all, net.JoinHostPort(one, port))
	}
	return all
}

// runID returns the ID that a server chooses when it starts, or nothing if the server does not answer.
func runID(ctx context.Context, node redis.UniversalClient) []string {
	info, _ := node.Info(ctx, "server").Result()
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
			return []string{id}
		}
	}
	return nil
}

// firstNode returns the name of the first node that set the key on a server, or nothing if the server takes no key. It
// tells servers apart that have no run ID, or do not tell it.
func firstNode(ctx context.Context, node redis.UniversalClient, key, name string) []string {
	if node.SetNX(ctx, key, name, 10*time.Second).Err() != nil {
		return nil
	}
	first, err := node.Get(ctx, key).Result()
	if err != nil {
		return nil
	}
	return []string{first}
}
