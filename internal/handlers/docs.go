package handlers

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/goccy/go-yaml"

	"stockapi/internal/sale"
)

// The documentation exists once, as openapi.yaml. The page is made from it, from the problems and from the rungs and
// bounds of this instance, so that it cannot say anything else than they do. openapi_doc.go reads the document.

var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed docs.html
	docsHTML string

	docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{"prose": prose, "short": short}).Parse(docsHTML))

	// readOpenAPI is put off until somebody asks for the page: an instance starts sooner without.
	readOpenAPI = sync.OnceValues(func() (*document, error) {
		d := new(document)
		if err := yaml.Unmarshal(openAPI, d); err != nil {
			return nil, fmt.Errorf("read openapi.yaml: %w", err)
		}
		return d, nil
	})
)

// docsPage is what the page is made from.
type docsPage struct {
	*document
	Instance, Host string
	Rungs          []sale.Status
	Bounds         Bounds
	Problems       []docsProblem
}

// docsProblem is a problem with what openapi.yaml says of it.
type docsProblem struct {
	Problem
	Name, Description string
}

// Class is the first digit of the status, which CSS gives a colour.
func (p docsProblem) Class() int { return p.Status / 100 }

// docs serves GET /docs. It promises browsers that the page loads nothing, and so needs no network.
func (s *server) docs(c *gin.Context) {
	d, err := readOpenAPI()
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	page := docsPage{document: d, Instance: s.Instance, Host: c.Request.Host, Rungs: s.shop.Rungs(), Bounds: s.Bounds,
		Problems: d.problems()}
	var html bytes.Buffer
	if err := docsTemplate.Execute(&html, page); err != nil {
		panic(err)
	}
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	c.Data(http.StatusOK, "text/html; charset=utf-8", html.Bytes())
}

// openapi serves GET /openapi.yaml.
func (s *server) openapi(c *gin.Context) { c.Data(http.StatusOK, "application/yaml", openAPI) }

// problem serves GET /problems/{name}, which is the type of a problem: it leads to what the page says of it.
func (s *server) problem(c *gin.Context) {
	name := c.Param("name")
	if _, ok := problems[name]; !ok {
		s.failPlain(c, "no-such-route", "see /docs")
		return
	}
	c.Redirect(http.StatusFound, "/docs#"+name)
}

// problems lists all problems by status, and by name within one.
func (d *document) problems() []docsProblem {
	var list []docsProblem
	for name, p := range problems {
		list = append(list, docsProblem{p, name, d.Components.Schemas.get(name).Description})
	}
	slices.SortFunc(list, func(a, b docsProblem) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// prose renders the little markup that openapi.yaml uses: paragraphs, and code between backticks.
func prose(text string) template.HTML {
	var html strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		html.WriteString("<p>")
		for i, part := range strings.Split(paragraph, "`") {
			part = template.HTMLEscapeString(part)
			if i%2 == 1 {
				part = "<code>" + part + "</code>"
			}
			html.WriteString(part)
		}
		html.WriteString("</p>")
	}
	return template.HTML(html.String()) //nolint:gosec // everything of the text is escaped
}

// short renders a duration without its zeroes: 1m and not 1m0s.
func short(d time.Duration) string {
	return strings.NewReplacer("m0s", "m", "h0m0s", "h").Replace(d.String())
}

// indented renders an example as JSON.
func indented(yamlText []byte) (string, error) {
	compact, err := yaml.YAMLToJSON(yamlText)
	if err != nil {
		return "", fmt.Errorf("example: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(compact), "", "  "); err != nil {
		return "", fmt.Errorf("example: %w", err)
	}
	return out.String(), nil
}
