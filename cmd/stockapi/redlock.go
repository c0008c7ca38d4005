package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
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
// that takes no key does not stop the start, but the log names it: it is missing in each quorum.
func independent(ctx context.Context, urls []string, nodes []redis.UniversalClient, log *slog.Logger) error {
	if len(nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	identities, infos, failures := make([][]string, len(nodes)), make([]string, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	key := "stockapi:node:" + rand.Text()
	for i := range nodes {
		all.Go(func() {
			infos[i], _ = nodes[i].Info(ctx).Result()
			var first string
			first, failures[i] = firstNode(ctx, nodes[i], key, fmt.Sprint("node ", i))
			known := append(addresses(ctx, urls[i]), infoField(infos[i], "run_id"), first)
			identities[i] = slices.DeleteFunc(known, func(id string) bool { return id == "" })
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
	warnOfNodes(urls, infos, failures, log)
	return nil
}

// warnOfNodes logs a warning of the nodes that took no key, and of each that gives locks away.
func warnOfNodes(urls, infos []string, failures []error, log *slog.Logger) {
	var failed []string
	for i, err := range failures {
		if err != nil {
			failed = append(failed, fmt.Sprintf("node %d (%s): %v", i+1, backend.Address(urls[i]), err))
		}
		warnOfEviction(infos[i], urls[i], log)
	}
	if len(failed) > 0 {
		log.Warn("nodes of --redlock do not answer or refuse a key: v6 does without them if it can, v9-nodes cannot",
			"nodes", strings.Join(failed, "; "))
	}
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

// firstNode returns the name of the first node that set the key on a server, or an error if the server takes no key. It
// tells servers apart that have no run ID, or do not tell it.
func firstNode(ctx context.Context, node redis.UniversalClient, key, name string) (string, error) {
	if err := node.SetNX(ctx, key, name, 10*time.Second).Err(); err != nil {
		return "", err
	}
	return node.Get(ctx, key).Result()
}
