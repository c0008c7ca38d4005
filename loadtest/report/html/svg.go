package html

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// svg collects elements. It escapes all text and every attribute, because here strings of a history become markup
// without html/template.
type svg struct{ strings.Builder }

// el writes an element with a tooltip, if the title is not empty; attrs are names and values in turn.
func (s *svg) el(name, title string, attrs ...any) {
	s.tag(name, attrs...)
	if title == "" {
		s.WriteString("/>")
		return
	}
	s.WriteString("><title>" + escape(title) + "</title></" + name + ">")
}

// rect writes a rectangle from x0 to x1.
func (s *svg) rect(class, title string, x0, x1, y, height float64, attrs ...any) {
	s.el("rect", title, append([]any{"class", class, "x", x0, "y", y, "width", x1 - x0, "height", height}, attrs...)...)
}

// text writes a line of text at x, y.
func (s *svg) text(class, content string, x, y float64, attrs ...any) {
	s.tag("text", append([]any{"class", class, "x", x, "y", y}, attrs...)...)
	s.WriteString(">" + escape(content) + "</text>")
}

// group opens a group with a tooltip for all of its elements, if the title is not empty; end closes it.
func (s *svg) group(class, title string) {
	s.tag("g", "class", class)
	if s.WriteString(">"); title != "" {
		s.WriteString("<title>" + escape(title) + "</title>")
	}
}

func (s *svg) end() { s.WriteString("</g>") }

func (s *svg) tag(name string, attrs ...any) {
	s.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		fmt.Fprintf(s, ` %s="%s"`, attrs[i], value(attrs[i+1]))
	}
}

func value(v any) string {
	if f, ok := v.(float64); ok {
		return number(f)
	}
	return escape(fmt.Sprint(v))
}

// number writes a number to a tenth of a unit.
func number(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

func escape(s string) string { return html.EscapeString(s) }

// textWidth estimates the width of a text of 11 pixels.
func textWidth(s string) float64 {
	w := 0.0
	for _, r := range s {
		if r >= 0x20 && r < 0x80 { // others become a sign of their own
			w += 6.6
		} else {
			w += 11
		}
	}
	return w
}
