package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// ReadJSON is [json.Unmarshal] with errors in terms of JSON, not of Go.
func ReadJSON(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var noTime *time.ParseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return errors.New("its JSON is cut short")
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON from byte %d on", syntax.Offset)
	case errors.As(err, &mismatch):
		what := "it is"
		if mismatch.Field != "" {
			what = fmt.Sprintf("its member %.80s is", strings.TrimPrefix(mismatch.Field, "Op.")) // an embedded type
		}
		return fmt.Errorf("%s %s, not %s", what, jsonValue(mismatch.Value), KindOf(mismatch.Type))
	case errors.As(err, &noTime):
		return fmt.Errorf("%.40q is not a time such as 2026-03-01T12:00:00Z", noTime.Value)
	case strings.HasPrefix(err.Error(), "Time.UnmarshalJSON"):
		return errors.New(`a time in it is not a string such as "2026-03-01T12:00:00Z"`)
	}
	return err
}

// jsonValue describes a value that an UnmarshalTypeError names.
func jsonValue(name string) string {
	number, isNumber := strings.CutPrefix(name, "number ")
	switch {
	case isNumber:
		return fmt.Sprintf("%.40s", number)
	case name == "bool":
		return "true or false"
	case name == "array" || name == "object":
		return "an " + name
	}
	return "a " + name
}

// KindOf describes the values that fit a type, such as "a whole number".
func KindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Pointer:
		return KindOf(t.Elem())
	}
	return "an object"
}
