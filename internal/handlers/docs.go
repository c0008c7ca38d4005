package handlers

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// openapi.yaml documents the routes and problems once. The page at /docs is Swagger UI, which shows that file and is
// embedded: see swaggerui/README.md.

var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed docs.html
	docsHTML []byte
	//go:embed docs.js swaggerui/*.gz
	docsFiles embed.FS
)

// docsPolicy is the Content-Security-Policy of the page: it loads scripts, styles and openapi.yaml from this instance
// and nothing from elsewhere, so it needs no network. Swagger UI has its images in its style sheet.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docs serves GET /docs.
func (s *server) docs(c *gin.Context) {
	c.Header("Content-Security-Policy", docsPolicy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", docsHTML)
}

// docsTypes lists the files that the page loads, with their types.
var docsTypes = map[string]string{
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
		files[name] = docsFile{unzip(gzipped), gzipped}
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

// unzip returns the content of an embedded gzip file.
func unzip(data []byte) []byte {
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

// problem serves GET /problems/{name}, the type of a problem: it redirects to the problem's schema in the page, which
// describes it. Swagger UI chooses the schema's ID.
func (s *server) problem(c *gin.Context) {
	name := c.Param("name")
	if _, ok := problems[name]; !ok {
		s.failPlain(c, "no-such-route", "see /docs")
		return
	}
	c.Redirect(http.StatusFound, "/docs#model-"+name)
}
