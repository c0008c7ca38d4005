package stage_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWords checks that both languages have the same keys, and that those are the ones that the pages use.
func TestWords(t *testing.T) {
	words := map[string]map[string]string{}
	for _, language := range []string{"en", "zh"} {
		text, err := os.ReadFile("web/words." + language + ".json")
		require.NoError(t, err)
		var of map[string]string
		require.NoError(t, json.Unmarshal(text, &of))
		words[language] = of
	}
	values := regexp.MustCompile(`\{\w+\}`)
	sorted := func(text string) []string {
		all := values.FindAllString(text, -1)
		slices.Sort(all)
		return all
	}
	for key, english := range words["en"] {
		assert.NotEmpty(t, words["zh"][key], key)
		assert.Equal(t, sorted(english), sorted(words["zh"][key]), key)
	}
	assert.Len(t, words["zh"], len(words["en"]))
	used := map[string]bool{}
	for _, file := range []string{"web/page.js", "web/wall.js", "web/phone.js", "web/stage.html", "web/phone.html",
		"class.go", "server.go", "shop.go", "stage.go", "step.go", "again.go", "sheet.gohtml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?:\bw\(|data-(?:word|label)=|refuse\(|Status\w+, |word )"([a-z.]+)"`).
			FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
	}
	assert.Greater(t, len(used), 50)
	for key := range used {
		assert.NotEmpty(t, words["en"][key], key)
	}
}
