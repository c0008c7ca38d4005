package handlers

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/lock"
)

func docsOf(t *testing.T) string {
	t.Helper()
	h, inside := embeddedShop(t)
	t.Cleanup(inside.Close)
	answer := newContract(t).call(t, h, request("GET", "/docs", ""))
	require.Equal(t, 200, answer.Code)
	assert.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'", "it promises to load nothing")
	return answer.Body.String()
}

func TestPageShowsEverything(t *testing.T) {
	page := docsOf(t)
	for name, p := range problems {
		assert.Contains(t, page, `id="`+name+`"`)
		assert.Contains(t, page, strings.ReplaceAll(p.Title, "'", "&#39;"))
	}
	for _, r := range lock.Ladder() {
		assert.Contains(t, page, `<span class="name">`+r.Number+`</span>`)
	}
	for path, item := range loadOpenAPI(t).Paths.Map() {
		for _, operation := range item.Operations() {
			assert.Contains(t, page, "<h3>"+operation.Summary+"</h3>", path)
			for _, p := range operation.Parameters {
				assert.Contains(t, page, `<span class="name">`+p.Value.Name+`</span>`, path)
			}
		}
	}
	assert.NotContains(t, page, "&lt;nil&gt;")
	assert.NotContains(t, page, "<no value>")
}

func TestPageNeedsNoNetworkAndItsLinksLeadSomewhere(t *testing.T) {
	page := docsOf(t)
	for _, loads := range []string{"<script", "<link", "<img", "@import", "url("} {
		assert.NotContains(t, page, loads)
	}
	var places []string
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		assert.NotContains(t, places, m[1], "twice the same place")
		assert.NotContains(t, m[1], " ")
		places = append(places, m[1])
	}
	for _, m := range regexp.MustCompile(` href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		place, here := strings.CutPrefix(m[1], "#")
		assert.True(t, here && slices.Contains(places, place) || m[1] == "/openapi.yaml", m[1])
	}
}

func TestProse(t *testing.T) {
	assert.EqualValues(t, "<p>a &lt;b&gt; <code>c &amp; d</code></p><p>e</p>", prose("a <b> `c & d`\n\ne\n"))
}
