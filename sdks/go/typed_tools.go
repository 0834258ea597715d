package ext

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/zot-agent/zot/sdks/go/internal/wire"
)

var (
	contextType = reflect.TypeFor[*Context]()
	errorType   = reflect.TypeFor[error]()
	rawType     = reflect.TypeFor[json.RawMessage]()
)

// ToolFunc registers a tool whose handler is a func(ctx *Context, in T) (any, error). T is a struct: the model sees its
// fields as arguments, and all but pointers and those with omitempty are required. Tags: json for the name, desc for the
// description. A T of json.RawMessage or Params takes any object.
//
// The handler returns a string, a ToolResult, or anything that encodes to JSON. Options: TimeoutS, With("label", …) and
// the other keys of register_tool; With("schema", …) replaces the schema made of T.
func (e *Extension) ToolFunc(name, description string, handler any, options ...Option) {
	call := reflect.ValueOf(handler)
	in := argumentsOf(name, call.Type())
	schema := schemaOf(in)
	frame := wire.RegisterTool{Schema: mustJSON(schema)}
	if err := json.Unmarshal(mustJSON(keysOf(options)), &frame); err != nil {
		panic(fmt.Sprintf("tool %q: %v", name, err))
	}
	frame.Name, frame.Description = name, description
	required, _ := schema["required"].([]string)
	e.addTool(frame, func(ctx context.Context, args json.RawMessage) ToolResult {
		made := reflect.New(in)
		if problem := decodeArguments(args, made.Interface(), required); problem != "" {
			return TextErrorResult(problem)
		}
		returned := call.Call([]reflect.Value{reflect.ValueOf(questionOf(ctx)), made.Elem()})
		if err, _ := returned[1].Interface().(error); err != nil {
			return TextErrorResult(err.Error())
		}
		return toolResultOf(returned[0].Interface())
	})
}

func argumentsOf(name string, kind reflect.Type) reflect.Type {
	fits := kind.Kind() == reflect.Func && kind.NumIn() == 2 && kind.In(0) == contextType &&
		kind.NumOut() == 2 && kind.Out(1) == errorType
	if !fits {
		panic(fmt.Sprintf("tool %q: the handler is a %v, expected func(*ext.Context, T) (any, error)", name, kind))
	}
	return kind.In(1)
}

func decodeArguments(args json.RawMessage, into any, required []string) string {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(args, &given); err != nil {
		return "the arguments are not an object"
	}
	for _, name := range required {
		if _, there := given[name]; !there {
			return fmt.Sprintf("missing argument: %s", name)
		}
	}
	if err := json.Unmarshal(args, into); err != nil {
		return fmt.Sprintf("bad arguments: %v", err)
	}
	return ""
}

// toolResultOf makes a result of what a handler returned.
func toolResultOf(value any) ToolResult {
	switch v := value.(type) {
	case nil:
		return ToolResult{}
	case ToolResult:
		return v
	case string:
		return TextResult(v)
	case ToolContent:
		return ToolResult{Content: []ToolContent{v}}
	case []ToolContent:
		return ToolResult{Content: v}
	}
	return ToolResult{Content: []ToolContent{Text(string(mustJSON(value)))}, StructuredContent: value}
}

// schemaOf is the JSON Schema of a Go type.
func schemaOf(kind reflect.Type) Params {
	if kind == rawType {
		return Params{"type": "object"}
	}
	switch kind.Kind() {
	case reflect.Pointer:
		return schemaOf(kind.Elem())
	case reflect.String:
		return Params{"type": "string"}
	case reflect.Bool:
		return Params{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return Params{"type": "number"}
	case reflect.Slice, reflect.Array:
		return Params{"type": "array", "items": schemaOf(kind.Elem())}
	case reflect.Map:
		return Params{"type": "object"}
	case reflect.Struct:
		return structSchema(kind)
	case reflect.Interface:
		return Params{}
	}
	if kind.ConvertibleTo(reflect.TypeFor[int]()) {
		return Params{"type": "integer"}
	}
	panic(fmt.Sprintf("a tool cannot take a %v", kind))
}

func structSchema(kind reflect.Type) Params {
	properties, required := Params{}, []string{}
	for i := range kind.NumField() {
		field := kind.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || tag == "-" {
			continue
		}
		name := tag
		if name == "" {
			name = lowerFirst(field.Name)
		}
		property := Params{}
		if field.Type != rawType {
			property = schemaOf(field.Type)
		}
		if text := field.Tag.Get("desc"); text != "" {
			property["description"] = text
		}
		properties[name] = property
		if field.Type.Kind() != reflect.Pointer && !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	schema := Params{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// lowerFirst makes env of Env and url of URL; encoding/json finds the field without regard to case.
func lowerFirst(name string) string {
	letters := []rune(name)
	for i, letter := range letters {
		if !unicode.IsUpper(letter) || (i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			break
		}
		letters[i] = unicode.ToLower(letter)
	}
	return string(letters)
}
