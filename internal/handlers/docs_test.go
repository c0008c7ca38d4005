package handlers

import (
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A browser opens the page without a network: its policy allows this instance alone, which serves all that it loads.
func TestDocsLoadOnlyFromTheirInstance(t *testing.T) {
	h, c := newFake(&fakeShop{}, ""), newContract(t)
	answer := c.call(t, h, request("GET /docs", ""))
	policy := answer.Header().Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'")
	for directive := range strings.SplitSeq(policy, "; ") {
		for _, source := range strings.Fields(directive)[1:] {
			assert.Contains(t, []string{"'none'", "'self'", "data:"}, source, directive)
		}
	}
	links := regexp.MustCompile(` (?:href|src)="(/[^"]*)"`).FindAllStringSubmatch(answer.Body.String(), -1)
	assert.Len(t, links, len(docsTypes))
	for _, link := range links {
		assert.Equal(t, 200, c.call(t, h, request("GET "+link[1], "")).Code, link[1])
	}
}

func TestDocsFiles(t *testing.T) {
	h, c := newFake(&fakeShop{}, ""), newContract(t)
	for name, contentType := range docsTypes {
		plain := c.call(t, h, request("GET /docs/"+name, ""))
		assert.Equal(t, contentType, plain.Header().Get("Content-Type"), name)
		assert.Empty(t, plain.Header().Get("Content-Encoding"), name)
		r := request("GET /docs/"+name, "")
		r.Header.Set("Accept-Encoding", "gzip, br")
		answer := serveTo(h, r)
		body := answer.Body.Bytes()
		if strings.HasPrefix(name, "swagger-ui") {
			assert.Equal(t, "gzip", answer.Header().Get("Content-Encoding"), name)
			body = unzip(body)
		}
		assert.Equal(t, plain.Body.Bytes(), body, name)
	}
	assert.Equal(t, 404, c.call(t, h, request("GET /docs/nothing.js", "")).Code)
}

// Swagger UI is unpacked once, and all answers share it: a copy for each would let slow readers fill the memory.
func TestDocsFilesAreShared(t *testing.T) {
	h := newFake(&fakeShop{}, "")
	for _, encoding := range []string{"", "gzip"} {
		r := request("GET /docs/swagger-ui-bundle.js", "")
		r.Header.Set("Accept-Encoding", encoding)
		h.ServeHTTP(discard{http.Header{}}, r)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			h.ServeHTTP(discard{http.Header{}}, r)
		}
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "bytes for ten answers, %q", encoding)
	}
}

// discard keeps nothing of an answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
