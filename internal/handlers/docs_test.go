package handlers

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/lock"
)

func docsOf(t *testing.T, h http.Handler) string {
	t.Helper()
	answer := newContract(t).call(t, h, request("GET /docs", ""))
	require.Equal(t, 200, answer.Code)
	policy := answer.Header().Get("Content-Security-Policy")
	for directive := range strings.SplitSeq(policy, "; ") {
		_, sources, _ := strings.Cut(directive, " ")
		for source := range strings.SplitSeq(sources, " ") {
			assert.Contains(t, []string{"'none'", "'self'", "data:"}, source, directive)
		}
	}
	assert.Contains(t, policy, "default-src 'none'", "it promises to load nothing from elsewhere")
	return answer.Body.String()
}

func docsShop(t *testing.T) http.Handler {
	t.Helper()
	h, inside := embeddedShop(t)
	t.Cleanup(inside.Close)
	return h
}

func TestPageShowsTheLadderAndEveryProblem(t *testing.T) {
	page := docsOf(t, docsShop(t))
	for name, p := range problems {
		assert.Contains(t, page, `id="`+name+`"`)
		assert.Contains(t, page, strings.ReplaceAll(p.Title, "'", "&#39;"))
	}
	d, err := readOpenAPI()
	require.NoError(t, err)
	for _, p := range d.problems() {
		assert.NotEmpty(t, p.Description, p.Name)
		assert.Contains(t, page, string(prose(p.Description)))
	}
	for _, r := range lock.Ladder() {
		assert.Contains(t, page, `<span class="name">`+r.Number+`</span>`)
	}
	assert.NotContains(t, page, "&lt;nil&gt;")
	assert.NotContains(t, page, "<no value>")
}

func TestPageLoadsOnlyFromItsInstanceAndItsLinksLeadSomewhere(t *testing.T) {
	h, c := docsShop(t), newContract(t)
	page := docsOf(t, h)
	for _, inline := range []string{"<script>", "<style", " style=", "@import", "url("} {
		assert.NotContains(t, page, inline)
	}
	var places []string
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		assert.NotContains(t, places, m[1], "twice the same place")
		assert.NotContains(t, m[1], " ")
		places = append(places, m[1])
	}
	for _, m := range regexp.MustCompile(` (?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		place, here := strings.CutPrefix(m[1], "#")
		switch {
		case here:
			assert.Contains(t, places, place)
		case m[1] != "data:,": // no icon
			assert.Equal(t, 200, c.call(t, h, request("GET "+m[1], "")).Code, m[1])
		}
	}
}

func TestFilesOfThePage(t *testing.T) {
	h, c := docsShop(t), newContract(t)
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
			body = unzipped(body)
		}
		assert.Equal(t, plain.Body.Bytes(), body, name)
		if strings.HasSuffix(name, ".css") {
			for _, m := range regexp.MustCompile(`@import|url\("?[^d"]`).FindAllString(plain.Body.String(), -1) {
				assert.Fail(t, name+" loads something", m)
			}
		}
	}
	assert.Equal(t, 404, c.call(t, h, request("GET /docs/nothing.js", "")).Code)
}

// Swagger UI is unpacked once, and all answers share it: a copy for each would let slow readers fill the memory.
func TestFilesOfThePageAreShared(t *testing.T) {
	h := docsShop(t)
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

// TestPageInABrowser opens the page in the browser that STOCKAPI_BROWSER names, such as chromium. No name but that of
// the instance can be resolved there, the page must violate no policy, and every route must be on it.
func TestPageInABrowser(t *testing.T) {
	browser := os.Getenv("STOCKAPI_BROWSER")
	if browser == "" {
		t.Skip("needs a browser: STOCKAPI_BROWSER=chromium")
	}
	var mu sync.Mutex
	var asked []string
	shop := docsShop(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		shop.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", server.URL+"/docs")
	var log bytes.Buffer
	command.Stderr = &log
	dom, err := command.Output()
	require.NoError(t, err, log.String())
	for line := range strings.Lines(log.String()) {
		assert.NotContains(t, line, "CONSOLE", "an error, or a violation of the policy")
	}
	for path, item := range loadOpenAPI(t).Paths.Map() {
		for method, operation := range item.Operations() {
			assert.Contains(t, string(dom), operation.Summary, "%s %s", method, path)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(asked)
	assert.Equal(t, []string{"GET /docs", "GET /docs/docs.css", "GET /docs/docs.js", "GET /docs/swagger-ui-bundle.js",
		"GET /docs/swagger-ui.css", "GET /openapi.yaml"}, asked)
}

func TestProse(t *testing.T) {
	assert.EqualValues(t, "<p>a &lt;b&gt; <code>c &amp; d</code></p><p>e</p>", prose("a <b> `c & d`\n\ne\n"))
}
