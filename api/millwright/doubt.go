package millwright

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Doubt is an annotation of ours that does nothing, or not what its author meant.
type Doubt struct {
	// Unknown says that there is no such key; else its value cannot be read, or it stands where it is not looked for.
	Unknown bool
	// Field is the path of the annotation in its object, Message what is wrong with it and what is in force instead.
	Field, Message string
}

// String is "metadata.annotations[millwright.dev/x]: there is no such annotation".
func (d Doubt) String() string { return d.Field + ": " + d.Message }

// Paths are where annotations stand: of an object itself, and of what is made from it.
const (
	OwnAnnotations      = "metadata.annotations"
	TemplateAnnotations = "spec.template.metadata.annotations"
	ownLabels           = "metadata.labels"
)

// Carrier is an object that may have annotations of ours.
type Carrier struct {
	// Kind is the object's ("MachineSet").
	Kind string
	// Owned says that another object made it, and handed its annotations down: those that are for the other are no mistake.
	Owned                         bool
	Annotations, Template, Labels map[string]string
}

// Doubts are what is wrong with the annotations of an object, by their paths; none of keys that controllers write.
func Doubts(c Carrier) (out []Doubt) {
	out = append(out, doubts(OwnAnnotations, c.Kind, c.Owned, c.Annotations)...)
	if c.Template != nil {
		out = append(out, doubts(TemplateAnnotations, "Machine", false, c.Template)...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Labels)) {
		if k, ok := lookUp(name); ok && k.By != Controller && !k.labelled() {
			out = append(out, Doubt{Field: ownLabels + "[" + name + "]", Message: "it is an annotation, and has no effect as a label"})
		}
	}
	return out
}

func doubts(path, kind string, owned bool, annotations map[string]string) (out []Doubt) {
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(name, Prefix) || slices.Contains(retired, name) {
			continue
		}
		d := Doubt{Field: path + "[" + name + "]"}
		k, known := lookUp(name)
		switch {
		case !known && kind == "Node" && Nearest(name) == "": // one of an infrastructure's
			continue
		case !known:
			d.Unknown, d.Message = true, "there is no such annotation, and it has no effect"
			if near := Nearest(name); near != "" {
				d.Message += ": did you mean " + near + "?"
			}
		case k.By == Controller:
			continue
		case !owned && !k.on(kind, path):
			d.Message = fmt.Sprintf("it has no effect on a %s: it is for %s", kind, strings.Join(k.On, ", "))
		case !readable(k, annotations):
			d.Message = Misread(name, annotations[name])
		default:
			continue
		}
		out = append(out, d)
	}
	return out
}

// MisreadDeletionShare is the percentage that applies if [MaxDeletionShare] or [MaxCreationShare] is invalid, because its author wanted a limit. Without
// the annotation, there is no limit.
const MisreadDeletionShare = 20

// inForce is, as a clause, what holds where a value cannot be read and that is not what holds without it.
var inForce = map[string]string{
	MaxDeletionShare: fmt.Sprintf("the default of %d%% is in force", MisreadDeletionShare), ApproveDeletion: "nothing is approved",
	MaxCreationShare: fmt.Sprintf("the default of %d%% is in force", MisreadDeletionShare), ApproveCreation: "nothing is approved", ApproveOrphans: "nothing is approved",
}

// Misread says what is wrong with the value of a key that cannot be read, and what is in force instead.
func Misread(key, value string) string {
	k, _ := lookUp(key)
	text := fmt.Sprintf("must be %s, is %q", k.Want, value)
	if force := inForce[key]; force != "" {
		text += "; " + force
	}
	return text
}

// retired are keys that earlier versions wrote.
var retired = []string{Prefix + "capacity-labels"}

// labelled reports whether the key is a label.
func (k Key) labelled() bool {
	return slices.ContainsFunc(k.On, func(on string) bool { return strings.Contains(on, "(label") })
}

// on reports whether the key is looked for on objects of a kind.
func (k Key) on(kind, path string) bool {
	return slices.ContainsFunc(k.On, func(on string) bool {
		what, _, _ := strings.Cut(on, " (")
		return what == kind || path == TemplateAnnotations && strings.HasPrefix(what, "template of")
	}) || kind == "MachineSet" && k.Name == ClusterDefaults
}

// readable reports whether the value of a key is of its form. What only a reader of its own understands is.
func readable(k Key, annotations map[string]string) bool {
	r := Read(annotations)
	if len(k.Words) > 0 && k.Form != Word && slices.Contains(k.Words, annotations[k.Name]) {
		return true
	}
	switch k.Form {
	case Duration, PositiveDuration:
		_, _ = r.Duration(k.Name)
	case Word:
		_, _ = r.Word(k.Name)
	case Count:
		_, _ = r.Count(k.Name)
	case Integer:
		_, _ = r.Integer(k.Name)
	case Percentage:
		_, _ = r.Percentage(k.Name)
	case CountOrPercentage:
		_, _ = r.CountOrPercentage(k.Name)
	case Time:
		_, _ = r.Time(k.Name)
	case Approval:
		_, _, _ = r.Approval(k.Name)
	case JSON:
		return json.Valid([]byte(annotations[k.Name]))
	case Switch, List, Bound, Text:
	}
	return len(r.Faults()) == 0
}

// Nearest is the key that a person most likely meant by a name; empty where none is near: where more than a third of what
// follows the prefix would have to be typed anew.
func Nearest(name string) string {
	typed := strings.TrimPrefix(name, Prefix)
	best, least := "", max(2, len(typed)/3)+1
	for _, k := range Keys() {
		if k.By == Controller {
			continue
		}
		if d := distance(typed, strings.TrimPrefix(k.Name, Prefix)); d < least {
			best, least = k.Name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
