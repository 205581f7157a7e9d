package tidy

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits on width. Short functions do not keep a package simple when every one of them reads the same wide struct.
const (
	MaxFields   = 20 // fields of a struct; an embedded struct is one, an anonymous struct counts with its own fields
	MaxBools    = 4  // boolean fields of a struct: n of them spell 2^n states, most of which are never meant
	MaxMethods  = 8  // methods of an interface, those of embedded interfaces of the same package included
	MaxReceiver = 20 // methods of a type that is no interface: all of them read and write the same fields
	MaxFanOut   = 12 // packages of this module that one package imports
	MaxKeys     = 0  // annotation and label keys of millwright.dev: each one is API, so there is no free number of them
)

// The kinds of width, as they stand in width.txt.
const (
	widthFields   = "fields"
	widthBools    = "bools"
	widthMethods  = "methods"
	widthReceiver = "receiver"
	widthFanOut   = "fan-out"
	widthKeys     = "keys"
)

var widthLimits = map[string]int{
	widthFields: MaxFields, widthBools: MaxBools, widthMethods: MaxMethods, widthReceiver: MaxReceiver, widthFanOut: MaxFanOut, widthKeys: MaxKeys,
}

var widthAdvice = map[string]string{
	widthFields:   "group what is read together into structs of their own",
	widthBools:    "use one closed set of values for booleans that exclude each other",
	widthMethods:  "split the interface by who calls it, or make the rare methods an optional interface",
	widthReceiver: "give what is asked for together, and the fields that it needs, a type of its own",
	widthFanOut:   "let the package that wires call both, or move the shared part down",
	widthKeys:     "a new key takes the place of another one",
}

// shapes are directories whose structs have the shape that an API gives them: their fields and booleans are not counted.
var shapes = []string{"api"}

// Widths measures what is over the limits on width. The key is "kind place": place is the directory of the package, a dot and
// the type for structs, receivers and interfaces, the directory for fan-out, and "millwright.dev" for keys. Tests and generated code are
// not measured.
func Widths(files []*File) map[string]int {
	measured := map[string]int{}
	interfaces, imports, keys := map[string]*ast.InterfaceType{}, map[string]map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if file.Test || file.Generated {
			continue
		}
		ofTypes(file, measured, interfaces)
		countReceivers(file, measured)
		collectImports(file, imports)
		collectKeys(file, keys)
	}
	for name, declared := range interfaces {
		measured[widthMethods+" "+name] = methodsOf(declared, packageOf(name), interfaces)
	}
	for dir, imported := range imports {
		measured[widthFanOut+" "+dir] = len(imported)
	}
	measured[widthKeys+" "+strings.TrimSuffix(keyPrefix, "/")] = len(keys)
	maps.DeleteFunc(measured, func(key string, width int) bool { return width <= widthLimits[kindOf(key)] })
	return measured
}

func ofTypes(file *File, measured map[string]int, interfaces map[string]*ast.InterfaceType) {
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		name := file.Dir() + "." + spec.Name.Name
		switch declared := spec.Type.(type) {
		case *ast.InterfaceType:
			interfaces[name] = declared
		case *ast.StructType:
			if withinAny(file.Dir(), shapes) {
				return true
			}
			fields, bools := fieldsOf(declared)
			measured[widthFields+" "+name] = max(fields, measured[widthFields+" "+name])
			measured[widthBools+" "+name] = max(bools, measured[widthBools+" "+name])
		}
		return true
	})
}

// fieldsOf counts the fields of a struct, and those of them that are a bool or a pointer to one.
func fieldsOf(declared *ast.StructType) (fields, bools int) {
	for _, field := range declared.Fields.List {
		names := max(1, len(field.Names))
		fields += names
		switch kind := pointed(field.Type).(type) {
		case *ast.Ident:
			if kind.Name == "bool" {
				bools += names
			}
		case *ast.StructType:
			innerFields, innerBools := fieldsOf(kind)
			fields += innerFields
			bools += innerBools
		}
	}
	return fields, bools
}

func pointed(expr ast.Expr) ast.Expr {
	if star, ok := expr.(*ast.StarExpr); ok {
		return star.X
	}
	return expr
}

func methodsOf(declared *ast.InterfaceType, dir string, interfaces map[string]*ast.InterfaceType) int {
	count := 0
	for _, method := range declared.Methods.List {
		embedded := interfaces[dir+"."+embeddedName(method)]
		switch {
		case len(method.Names) > 0:
			count += len(method.Names)
		case embedded != nil && embedded != declared:
			count += methodsOf(embedded, dir, interfaces)
		default:
			count++ // an interface of another package, or a constraint
		}
	}
	return count
}

// countReceivers counts the methods that a file declares by their receiver.
func countReceivers(file *File, measured map[string]int) {
	for _, decl := range file.Syntax.Decls {
		method, ok := decl.(*ast.FuncDecl)
		if !ok || method.Recv == nil {
			continue
		}
		switch receiver := pointed(method.Recv.List[0].Type).(type) {
		case *ast.Ident:
			measured[widthReceiver+" "+file.Dir()+"."+receiver.Name]++
		case *ast.IndexExpr: // with one type parameter
			measured[widthReceiver+" "+file.Dir()+"."+nameOf(receiver.X)]++
		case *ast.IndexListExpr: // with several
			measured[widthReceiver+" "+file.Dir()+"."+nameOf(receiver.X)]++
		}
	}
}

// nameOf is the name of a generic type.
func nameOf(expr ast.Expr) string {
	name, ok := expr.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// embeddedName is the name of an embedded interface of the same package, without its type arguments.
func embeddedName(field *ast.Field) string {
	switch kind := field.Type.(type) {
	case *ast.Ident:
		return kind.Name
	case *ast.IndexExpr:
		if name, ok := kind.X.(*ast.Ident); ok {
			return name.Name
		}
	}
	return ""
}

// packageOf is the directory in the name of a type.
func packageOf(name string) string {
	return name[:strings.LastIndexByte(name, '.')]
}

func collectImports(file *File, imports map[string]map[string]bool) {
	for _, spec := range file.Syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !within(imported, Module) {
			continue
		}
		if imports[file.Dir()] == nil {
			imports[file.Dir()] = map[string]bool{}
		}
		imports[file.Dir()][imported] = true
	}
}

// collectKeys finds string literals that are a key of ours: the prefix and one more word.
func collectKeys(file *File, keys map[string]bool) {
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		if key := keyOf(node); key != "" {
			keys[key] = true
		}
		return true
	})
}

func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, " ")
	return kind
}

// WidthRatchet compares what is over the limits with what width.txt allows. What has grown or is new is a violation, and
// what has shrunk must be written down, so that it stays narrow.
func WidthRatchet(over, allowed map[string]int) []Violation {
	var violations []Violation
	for _, key := range slices.Sorted(maps.Keys(over)) {
		kind := kindOf(key)
		width, limit, advice := over[key], widthLimits[kind], widthAdvice[kind]
		was, known := allowed[key]
		switch {
		case !known:
			violations = append(violations, Violation{key, fmt.Sprintf("has %d, the limit is %d: %s", width, limit, advice)})
		case width > was:
			violations = append(violations, Violation{key, fmt.Sprintf("has grown to %d from %d, and is over the limit of %d: %s", width, was, limit, advice)})
		case width < was:
			violations = append(violations, Violation{key, fmt.Sprintf("has shrunk to %d from %d: %s", width, was, writeDown)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if _, still := over[key]; !still {
			violations = append(violations, Violation{key, "is within the limits now, or gone: " + writeDown})
		}
	}
	return violations
}

const writeDown = "record it with go test ./internal/verify/tidy -run TestWidth -update"

// Narrowed is what width.txt says after a change: the smaller of what is and what was allowed. Nothing is added to a file that
// says anything; an empty file takes everything as it is.
func Narrowed(over, allowed map[string]int) map[string]int {
	if len(allowed) == 0 {
		return maps.Clone(over)
	}
	narrowed := map[string]int{}
	for key, was := range allowed {
		if width, still := over[key]; still {
			narrowed[key] = min(width, was)
		}
	}
	return narrowed
}

// FormatWidths is the text of width.txt.
func FormatWidths(widths map[string]int) string {
	var text strings.Builder
	text.WriteString(widthHeader)
	for _, key := range slices.Sorted(maps.Keys(widths)) {
		fmt.Fprintf(&text, "%s %d\n", key, widths[key])
	}
	return text.String()
}

const widthHeader = `# What is over the limits of internal/verify/tidy/width.go, and by how much. Numbers only fall and lines only go.
#
#	go test ./internal/verify/tidy -run TestWidth -update
#
# records what has become narrower, and never what has become wider. After renaming a type, edit its line. To take the whole
# tree as it is, after a merge of many changes, empty this file first.
`
