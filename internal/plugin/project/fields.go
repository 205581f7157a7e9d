package project

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
)

// Changed returns what a change changes in its object.
func Changed(c Change, st Stored) forecast.Changed {
	out := forecast.Changed{Object: ObjectOf(c.About()), Verb: forecast.Edited}
	switch {
	case c.Before == nil:
		out.Verb = forecast.Created
	case c.After == nil:
		out.Verb = forecast.Removed
	default:
		if out.Fields = fields(c.Before, c.After); len(out.Fields) == 0 {
			out.Verb = forecast.Same
		}
	}
	if class, ok := c.About().(*v1alpha1.MachineClass); ok && (out.Verb == forecast.Edited || out.Verb == forecast.Removed) {
		out.Effect = classEffect(class, out.Verb, st)
	}
	return out
}

// classEffect says what a change of a class means: it affects only machines that are created later.
func classEffect(class *v1alpha1.MachineClass, verb string, st Stored) string {
	made, templates := 0, 0
	for _, o := range st.Objects {
		if o.GetNamespace() != class.Namespace {
			continue
		}
		switch o := o.(type) {
		case *v1alpha1.Machine:
			made += one(o.Spec.Class.Name == class.Name)
		case *v1alpha1.MachineSet:
			templates += one(o.Spec.Template.Spec.Class.Name == class.Name)
		case *v1alpha1.MachineDeployment:
			templates += one(o.Spec.Template.Spec.Class.Name == class.Name)
		}
	}
	refer := fmt.Sprintf("It is referred to by %d machines, and by the templates of %d machine sets and machine deployments", made, templates)
	if verb == forecast.Edited {
		return "It rolls no machine: machines that are there stay as they are, and those to come are made from it. " + refer + "."
	}
	return refer + "."
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// left are fields that the API server and users' tools write.
var left = []string{
	"apiVersion", "kind", "status", "metadata.managedFields", "metadata.resourceVersion", "metadata.generation", "metadata.uid", "metadata.creationTimestamp", "metadata.selfLink",
	"metadata.annotations." + corev1.LastAppliedConfigAnnotation,
}

// fields are those in which the objects differ, with their values where these are short.
func fields(before, after client.Object) (out []forecast.Field) {
	a, errA := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	b, errB := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if errA != nil || errB != nil {
		return []forecast.Field{{Path: "the object", From: "?", To: "?"}} // typed objects can be converted
	}
	compare("", a, b, &out)
	slices.SortFunc(out, func(a, b forecast.Field) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func compare(path string, a, b any, out *[]forecast.Field) {
	if slices.Contains(left, path) {
		return
	}
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if isX && isY || isX && b == nil || isY && a == nil {
		keys := map[string]bool{}
		for k := range x {
			keys[k] = true
		}
		for k := range y {
			keys[k] = true
		}
		for k := range keys {
			compare(strings.TrimPrefix(path+"."+k, "."), x[k], y[k], out)
		}
		return
	}
	was, is := short(a), short(b)
	if was != is {
		*out = append(*out, forecast.Field{Path: path, From: cut(was), To: cut(is)})
	}
}

func short(v any) string {
	if v == nil {
		return "none"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(raw)
}

// longest is how much of a value is shown.
const longest = 40

func cut(s string) string {
	if letters := []rune(s); len(letters) > longest {
		return string(letters[:longest-1]) + "…"
	}
	return s
}
