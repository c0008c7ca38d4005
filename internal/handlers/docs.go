package handlers

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/goccy/go-yaml"

	"stockapi/internal/sale"
)

// openapi.yaml documents the routes and problems once. The page at /docs shows it with Swagger UI, which is embedded:
// see swaggerui/README.md. The rest of the page is about this instance: its rungs and bounds, and the problems, whose
// types lead to the page.

var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed docs.html
	docsHTML string
	//go:embed docs.css docs.js swaggerui/*.gz
	docsFiles embed.FS

	docsFuncs    = template.FuncMap{"prose": prose, "short": short}
	docsTemplate = template.Must(template.New("docs").Funcs(docsFuncs).Parse(docsHTML))

	// readOpenAPI reads openapi.yaml when the page is first asked for: an instance starts sooner without.
	readOpenAPI = sync.OnceValues(func() (d document, err error) {
		if err := yaml.Unmarshal(openAPI, &d); err != nil {
			return d, fmt.Errorf("read openapi.yaml: %w", err)
		}
		return d, nil
	})
)

// docsPolicy is the Content-Security-Policy of the page: it loads scripts, styles and openapi.yaml from this instance
// and nothing from elsewhere, so it needs no network. Swagger UI has its images in its style sheet.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A document holds the parts of openapi.yaml that the page shows without Swagger UI.
type document struct {
	Info       struct{ Title, Description string }
	Components struct {
		Schemas map[string]struct{ Description string }
	}
}

// docsPage holds the data of the page.
type docsPage struct {
	Title, Description string
	Instance, Host     string
	Rungs              []sale.Status
	Bounds             Bounds
	Problems           []docsProblem
}

// docsProblem is a problem with its name, and its description in openapi.yaml.
type docsProblem struct {
	Problem
	Name, Description string
}

// docs serves GET /docs.
func (s *server) docs(c *gin.Context) {
	d, err := readOpenAPI()
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	page := docsPage{Title: d.Info.Title, Description: d.Info.Description, Instance: s.Instance, Host: c.Request.Host,
		Rungs: s.shop.Rungs(), Bounds: s.Bounds, Problems: d.problems()}
	var html bytes.Buffer
	if err := docsTemplate.Execute(&html, page); err != nil {
		panic(err)
	}
	c.Header("Content-Security-Policy", docsPolicy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", html.Bytes())
}

// docsTypes lists the files that the page loads, with their types.
var docsTypes = map[string]string{
	"docs.css":             "text/css; charset=utf-8",
	"docs.js":              "text/javascript; charset=utf-8",
	"swagger-ui.css":       "text/css; charset=utf-8",
	"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}

// A docsFile is the content of such a file. Swagger UI is embedded compressed.
type docsFile struct {
	plain, gzipped []byte // gzipped is nil of a file that is embedded as it is
}

// readDocsFiles reads the files when one is first asked for. All answers share them: unpacking takes 14 ms of a
// processor, and a copy for each answer would let slow readers fill the memory.
var readDocsFiles = sync.OnceValue(func() map[string]docsFile {
	files := map[string]docsFile{}
	for name := range docsTypes {
		plain, err := docsFiles.ReadFile(name)
		if err == nil {
			files[name] = docsFile{plain: plain}
			continue
		}
		gzipped, err := docsFiles.ReadFile(path.Join("swaggerui", name+".gz"))
		if err != nil {
			panic(err)
		}
		files[name] = docsFile{unzipped(gzipped), gzipped}
	}
	return files
})

// docsFile serves GET /docs/{file}. Swagger UI is sent compressed to a client that accepts it.
func (s *server) docsFile(c *gin.Context) {
	name := c.Param("file")
	file, ok := readDocsFiles()[name]
	if !ok {
		s.failPlain(c, "no-such-route", "see /docs")
		return
	}
	c.Header("Cache-Control", "no-cache")
	body := file.plain
	if file.gzipped != nil {
		c.Header("Vary", "Accept-Encoding")
		if strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
			c.Header("Content-Encoding", "gzip")
			body = file.gzipped
		}
	}
	c.Data(http.StatusOK, docsTypes[name], body)
}

// unzipped returns the content of an embedded gzip file.
func unzipped(data []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		panic(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return content
}

// openapi serves GET /openapi.yaml, without --faults less the lines about the parameter fault.
func (s *server) openapi(c *gin.Context) {
	served := openAPI
	if s.Faults == nil {
		served = withFault.ReplaceAll(openAPI, nil)
	}
	c.Data(http.StatusOK, "application/yaml", served)
}

// withFault matches the lines of openapi.yaml about the parameter fault.
var withFault = regexp.MustCompile(`(?m)^.* # --faults\n`)

// problem serves GET /problems/{name}, the type of a problem: it redirects to the problem's place in the page.
func (s *server) problem(c *gin.Context) {
	name := c.Param("name")
	if _, ok := problems[name]; !ok {
		s.failPlain(c, "no-such-route", "see /docs")
		return
	}
	c.Redirect(http.StatusFound, "/docs#"+name)
}

// problems lists all problems by status, and by name within a status.
func (d document) problems() []docsProblem {
	var list []docsProblem
	for name, p := range problems {
		list = append(list, docsProblem{p, name, d.Components.Schemas[name].Description})
	}
	slices.SortFunc(list, func(a, b docsProblem) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// prose renders the markup that openapi.yaml uses: paragraphs, and code between backticks.
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
	return template.HTML(html.String()) //nolint:gosec // all of the text is escaped
}

// short returns a duration without zeroes at the end: 1m rather than 1m0s.
func short(d time.Duration) string {
	return strings.NewReplacer("m0s", "m", "h0m0s", "h").Replace(d.String())
}
