package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// A Link is the network path from one client to one server. It runs through a proxy that no other client uses, so a
// fault on it affects that client alone.
type Link struct{ proxy *toxiproxy.Proxy }

// newLink returns a link to a host:port. Close ends it.
func newLink(upstream string) (*Link, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	var err error
	for range 3 { // a port that is free when we look may be taken when the proxy listens
		var port int
		if port, err = freePort(); err != nil {
			return nil, err
		}
		l := &Link{toxiproxy.NewProxy(server, upstream, fmt.Sprintf("127.0.0.1:%d", port), upstream)}
		if err = l.proxy.Start(); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("cannot start a proxy to %s: %w", upstream, err)
}

// Cut closes the connections and refuses new ones.
func (l *Link) Cut() error {
	l.proxy.Stop()
	return nil
}

// DropRequests drops what the client sends. The connections stay open.
func (l *Link) DropRequests() error { return l.add("timeout", "upstream", `{"timeout":0}`) }

// DropResponses drops what the server answers. The server still carries out the requests.
func (l *Link) DropResponses() error { return l.add("timeout", "downstream", `{"timeout":0}`) }

// DelayResponses delays what the server answers until the link is healed.
func (l *Link) DelayResponses() error { return l.add("latency", "downstream", `{"latency":3600000}`) }

// DelayRequests delays what the client sends by that much.
func (l *Link) DelayRequests(by time.Duration) error {
	return l.add("latency", "upstream", fmt.Sprintf(`{"latency":%d}`, by.Milliseconds()))
}

// Partition drops what goes either way.
func (l *Link) Partition() error { return errors.Join(l.DropRequests(), l.DropResponses()) }

func (l *Link) add(toxic, stream, attributes string) error {
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(
		fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":%s}`, toxic+" "+stream, toxic, stream, attributes)))
	return err
}

// Heal removes all faults from the link. What was delayed arrives. Dropped data stays lost, and its connections end.
func (l *Link) Heal() error {
	l.proxy.Toxics.ResetToxics(context.Background())
	l.proxy.Lock()
	enabled := l.proxy.Enabled
	l.proxy.Unlock()
	if enabled {
		return nil
	}
	return l.proxy.Start()
}

// Close ends the link for good.
func (l *Link) Close() { l.proxy.Stop() }

// through returns the URL of a server as it is reached over the link.
func (l *Link) through(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	u.Host = l.proxy.Listen
	return u.String()
}
