package lenient_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

var root = field.NewPath("providerSpec")

// filling is an admitter that fills in every empty field of each kind.
type filling struct{}

func (filling) Kinds() []schema.GroupVersionKind { return nil }

func (filling) Admit(a admit.Request) (warnings []string, faults field.ErrorList) {
	if _, _, err := lenient.Decode[kinds](a.Spec); err != nil {
		faults = append(faults, lenient.Undecodable(a.Path, err))
	}
	return nil, faults
}

func (filling) Default(a admit.Request) ([]byte, error) {
	s, document, err := lenient.Decode[kinds](a.Spec)
	if err != nil {
		return nil, err
	}
	if s.Name == "" {
		document.Set("name", "n")
	}
	if s.Pointer == nil {
		document.Set("pointer", "p")
	}
	if len(s.Labels) == 0 {
		document.In("labels").Set("l", "v")
	}
	if s.Part.Text == "" {
		document.In("part").Set("text", "t")
	}
	if s.Other == nil {
		document.In("other").Set("id", "o")
	}
	for i, other := range s.Others {
		if other == nil || other.ID == nil {
			document.Entry("others", i).Set("id", "e")
		}
	}
	if len(s.Others) == 0 {
		document.Entry("others", 0).Set("id", "e")
	}
	return document.JSON()
}

// filled reports whether a spec has every value that is filled in.
func filled(s *kinds) bool {
	whole := s.Name != "" && s.Pointer != nil && len(s.Labels) > 0 && s.Part.Text != "" && s.Other != nil && len(s.Others) > 0
	for _, other := range s.Others {
		whole = whole && other != nil && other.ID != nil
	}
	return whole
}
