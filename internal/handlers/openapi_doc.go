package handlers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// A document is as much of an OpenAPI document as the page shows.
type document struct {
	Info       struct{ Title, Description string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[path]
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]response
		Schemas    ordered[schema]
	}
}

type path struct {
	Parameters             []parameter
	Get, Put, Post, Delete *operation
}

type operation struct {
	Tags                 []string
	Summary, Description string
	Security             []map[string][]string
	Parameters           []parameter
	RequestBody          struct{ Content media } `yaml:"requestBody"`
	Responses            ordered[response]

	Method, Path string `yaml:"-"` // where it was found
}

type parameter struct {
	Ref         string `yaml:"$ref"`
	Name, In    string
	Required    bool
	Description string
	Schema      schema
}

// media is what a body may be, by its type.
type media map[string]struct {
	Schema  schema
	Example example
}

type response struct {
	Ref         string `yaml:"$ref"`
	Description string
	Headers     ordered[struct{ Description string }]
	Content     media
}

type schema struct {
	Ref                       string `yaml:"$ref"`
	Type, Format, Description string
	Default                   any
	Minimum, Maximum          *int64
	Enum                      []string
	Items                     *schema
	AllOf                     []schema `yaml:"allOf"`
	OneOf                     []schema `yaml:"oneOf"`
	Required                  []string
	Properties                ordered[schema]
}

// example is JSON, indented.
type example string

// UnmarshalYAML keeps the order of the members.
func (e *example) UnmarshalYAML(text []byte) error {
	json, err := indented(text)
	*e = example(json)
	return err
}

// ordered is a map that keeps the order it was written in, which is the order to be read in.
type ordered[V any] []entry[V]

type entry[V any] struct {
	Name  string
	Value V
}

// UnmarshalYAML reads the members one by one.
func (o *ordered[V]) UnmarshalYAML(node ast.Node) error {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return fmt.Errorf("%s: not a mapping", node.GetPath())
	}
	for _, member := range mapping.Values {
		e := entry[V]{Name: member.Key.GetToken().Value}
		if err := yaml.NodeToValue(member.Value, &e.Value); err != nil {
			return fmt.Errorf("%s: %w", node.GetPath(), err)
		}
		*o = append(*o, e)
	}
	return nil
}

func (o ordered[V]) get(name string) (value V) {
	if i := slices.IndexFunc(o, func(e entry[V]) bool { return e.Name == name }); i >= 0 {
		value = o[i].Value
	}
	return value
}

// Tagged returns the operations of a tag.
func (d *document) Tagged(tag string) (list []operation) {
	for _, p := range d.Paths {
		for _, m := range []struct {
			method string
			*operation
		}{{"GET", p.Value.Get}, {"PUT", p.Value.Put}, {"POST", p.Value.Post}, {"DELETE", p.Value.Delete}} {
			if m.operation == nil || !slices.Contains(m.Tags, tag) {
				continue
			}
			o := *m.operation
			o.Method, o.Path = m.method, p.Name
			o.Parameters = slices.Concat(p.Value.Parameters, o.Parameters)
			list = append(list, o)
		}
	}
	return list
}

// ID is the operation's place in the page.
func (o operation) ID() string {
	return strings.ToLower(o.Method) + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(o.Path)
}

// Class is the method in CSS.
func (o operation) Class() string { return strings.ToLower(o.Method) }

// Admin reports whether the operation can be put behind the admin token.
func (o operation) Admin() bool { return len(o.Security) > 0 }

// Resolved returns the parameter that p is or refers to.
func (d *document) Resolved(p parameter) parameter {
	if p.Ref != "" {
		return d.Components.Parameters[base(p.Ref)]
	}
	return p
}

// Answer returns the response that r is or refers to.
func (d *document) Answer(r response) response {
	if r.Ref != "" {
		return d.Components.Responses[base(r.Ref)]
	}
	return r
}

// Problems names the problems that a body may be.
func (m media) Problems() (names []string) {
	s := m["application/problem+json"].Schema
	for _, one := range append([]schema{s}, s.OneOf...) {
		if one.Ref != "" {
			names = append(names, base(one.Ref))
		}
	}
	return names
}

// Kind names the schema of a body in JSON, if it has a name.
func (m media) Kind() string { return base(m["application/json"].Schema.Ref) }

// Example returns an example of a body in JSON, or "".
func (m media) Example() string { return string(m["application/json"].Example) }

// Objects lists the objects that answers are made of, without the problems, which come from another list.
func (d *document) Objects() (list ordered[schema]) {
	for _, s := range d.Components.Schemas {
		if s.Value.Type == "object" {
			list = append(list, s)
		}
	}
	return list
}

// resolve follows references until there is something to see. What who refers says itself wins over what is referred
// to.
func (d *document) resolve(s schema) schema {
	switch {
	case s.Ref != "":
		return d.resolve(d.Components.Schemas.get(base(s.Ref)))
	case len(s.AllOf) == 1:
		of := d.resolve(s.AllOf[0])
		of.Description = cmp.Or(s.Description, of.Description)
		of.Default = cmp.Or(s.Default, of.Default)
		return of
	}
	return s
}

// Says returns the description of a schema.
func (d *document) Says(s schema) string { return d.resolve(s).Description }

// Default returns what a value is if it is left out, or nil.
func (d *document) Default(s schema) any { return d.resolve(s).Default }

// Needs reports whether an object always has that property.
func (s schema) Needs(property string) bool { return slices.Contains(s.Required, property) }

// Kind says in a few words what a value is.
func (d *document) Kind(s schema) string {
	if name := base(s.Ref); d.resolve(s).Type == "object" && name != "" {
		return name
	}
	s = d.resolve(s)
	words := []string{s.Type}
	switch {
	case s.Type == "array":
		return "list of " + d.Kind(*s.Items)
	case len(s.Enum) > 0:
		words = []string{strings.Join(s.Enum, " or ")}
	case s.Format == "date-time":
		words = []string{"time"}
	}
	if s.Minimum != nil {
		words = append(words, fmt.Sprintf("≥ %d", *s.Minimum))
	}
	if s.Maximum != nil {
		words = append(words, fmt.Sprintf("≤ %d", *s.Maximum))
	}
	return strings.Join(words, " ")
}

// base returns the name at the end of a reference.
func base(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }
