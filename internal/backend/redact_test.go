package backend_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
)

const canary = "hunter2"

// secrets are passwords with a character each that means something in a URL, all with the canary in them.
func secrets() (list []string) {
	for _, special := range []string{"", "@", "/", "?", "#", ":", "%", "%zz", " ", "\x7f", "&", "=", "12/", "12?", "12#",
		"12@", "["} {
		for _, raw := range []string{special + canary, canary + special} {
			list = append(list, raw, url.QueryEscape(raw), url.PathEscape(raw))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// places are URLs and DSNs as people write them, right and wrong, with SECRET where a password may be.
var places = []string{
	"%s://:SECRET@127.0.0.1:6379/0", "%s://user:SECRET@127.0.0.1:1/shop", "%s://SECRET@127.0.0.1:1",
	"%s://user:SECRET@127.0.0.1:bad/",
	"%s://127.0.0.1:1/shop?user=u&password=SECRET", "%s://127.0.0.1:1/0?password=SECRET", "%s://127.0.0.1:1?SECRET",
	"%s://127.0.0.1:1?what=SECRET", "%s://127.0.0.1:1?username=u&password=SECRET&addr=127.0.0.1:2",
	"%s://127.0.0.1:1?master_name=shop&sentinel_password=SECRET", "%s://u:SECRET@127.0.0.1:1?master_name=shop&what=ever",
	"%s://127.0.0.1:1?addr=u:SECRET@127.0.0.1:2", "%s://127.0.0.1:1/shop?sslpassword=SECRET&sslkey=/nowhere",
	"%s://127.0.0.1:1/shop?passfile=SECRET&sslmode=rain", "%s://127.0.0.1:1/shop?options=-c%%20SECRET&sslmode=rain",
	"%s://127.0.0.1:1/shop?timeout=SECRET", "%s://127.0.0.1:1/shop#SECRET", "%s:u:SECRET@127.0.0.1:1/shop",
	"%s:/u:SECRET@127.0.0.1/shop",
	"%s://127.0.0.1,u:SECRET@127.0.0.1:1/shop", "%s://[::1/:SECRET@127.0.0.1", "u:SECRET@tcp(127.0.0.1:1)/shop",
	"host=127.0.0.1 user=u password=SECRET dbname=shop", "host=127.0.0.1 password='SECRET", "SECRET",
	":SECRET@127.0.0.1:6379", "//u:SECRET@127.0.0.1:1",
}

// Wherever a password is in a URL, and however the URL is spelt, no text about the URL contains it.
func TestNoPasswordIsEverShown(t *testing.T) {
	o := backend.Options{Timeout: time.Second, PoolSize: 1}
	opened := 0
	for _, scheme := range []string{"redis", "unix", "mysql", "postgres", "http"} {
		for _, place := range places {
			for _, secret := range secrets() {
				raw := place
				if strings.Contains(place, "%s") {
					raw = fmt.Sprintf(place, scheme)
				}
				raw = strings.ReplaceAll(raw, "SECRET", secret)
				said := []string{backend.Redact(raw), backend.Address(raw)}
				if client, err := backend.Open(raw, o); err != nil {
					said = append(said, err.Error())
				} else {
					opened++
					_ = client.Close()
				}
				if db, err := sqldb.Open(raw, o); err != nil {
					said = append(said, err.Error())
				} else {
					opened++
					_ = db.Close()
				}
				if !backend.Hosts(raw) { // the canary alone may well be a host
					_, err := backend.OpenZooKeeper(raw, backend.ZooKeeperOptions{})
					require.Error(t, err, raw)
					said = append(said, err.Error())
				}
				for _, text := range said {
					require.NotContains(t, text, canary, raw)
					require.NotContains(t, text, "\n", "one line: %s", raw)
				}
			}
		}
	}
	assert.Positive(t, opened, "some of them are right")
}

func TestWhatIsHarmlessIsShown(t *testing.T) {
	for raw, want := range map[string][2]string{
		"redis://127.0.0.1:6379":                         {"redis://127.0.0.1:6379", "127.0.0.1:6379"},
		"redis://u:p@127.0.0.1:6379/3?db=4":              {"redis://127.0.0.1:6379/3", "127.0.0.1:6379"},
		"rediss://[::1]:6379":                            {"rediss://[::1]:6379", "[::1]:6379"},
		"redis://:p@h:1?addr=h:2&addr=h:3&password=p":    {"redis://h:1?addr=h:2&addr=h:3", "h:1"},
		"redis://h?master_name=shop&sentinel_password=p": {"redis://h?master_name=shop", "h"},
		"unix://u:p@/run/redis.sock?db=1":                {"unix:///run/redis.sock", "unix:///run/redis.sock"},
		"mysql://u:p@db.shop:3306/shop?timeout=1s":       {"mysql://db.shop:3306/shop", "db.shop:3306"},
		"postgres://h/db?user=u&password=p":              {"postgres://h/db", "h"},
		"sqlite:///tmp/stockapi-0/locks.db?_pragma=key=p": {"sqlite:///tmp/stockapi-0/locks.db",
			"sqlite:///tmp/stockapi-0/locks.db"},
	} {
		assert.Equal(t, want[0], backend.Redact(raw))
		assert.Equal(t, want[1], backend.Address(raw))
	}
}

func TestARedisURLThatCannotBeUsedSaysWhy(t *testing.T) {
	for raw, says := range map[string]string{
		"nonsense":               "it begins with redis://",
		"redis://h/one":          "redis://h is not the URL of a Redis",
		"redis://h?what=ever":    "a parameter of the query is none of go-redis'",
		"redis://:pa/ss@h":       "@ as %40 and / as %2F",
		"redis://h/1/2":          "the path is the number of a database",
		"redis://h?addr=h:1&x=1": "a parameter of the query",
		"redis://h?addr=h":       "an addr of the query is host:port",
		"http://h?master_name=x": "it begins with redis://",
	} {
		_, err := backend.Open(raw, backend.Options{Timeout: time.Second, PoolSize: 1})
		assert.ErrorContains(t, err, says, raw)
	}
}

// A URL ends at a #, so the part of a password before it would be dialled and shown as the host.
func TestARawHashIsRefused(t *testing.T) {
	for _, url := range []string{"redis://:20260101#pass@127.0.0.1:30106", "redis://20260101#pass@127.0.0.1",
		"rediss://:20260101#pass@127.0.0.1:1?addr=127.0.0.1:2", "redis://:20260101#pass@h?master_name=shop",
		"redis://127.0.0.1:20260101/0#", "unix:///20260101#pass@/run/redis.sock"} {
		_, err := backend.Open(url, backend.Options{Timeout: time.Second, PoolSize: 1})
		require.ErrorContains(t, err, "write # as %23", url)
		assert.NotContains(t, err.Error()+backend.Redact(url)+backend.Address(url), "20260101")
	}
	for _, dsn := range []string{"mysql://:20260101#pass@127.0.0.1/shop", "mariadb://20260101#pass@127.0.0.1/shop",
		"postgres://20260101#pass@127.0.0.1/shop", "sqlite:///tmp/20260101#1.db"} {
		_, err := sqldb.Open(dsn, backend.Options{Timeout: time.Second, PoolSize: 1})
		require.ErrorContains(t, err, "write # as %23", dsn)
		assert.NotContains(t, err.Error()+backend.Redact(dsn), "20260101")
	}
	client, err := backend.Open("redis://:1%23p@127.0.0.1:6379/0", backend.Options{Timeout: time.Second, PoolSize: 1})
	require.NoError(t, err)
	defer client.Close()
	assert.Equal(t, "1#p", client.(*redis.Client).Options().Password)
}
