package form_test

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/form"
)

func TestForm(t *testing.T) {
	values, err := url.ParseQuery("Group.1=a&Group.2=b&Group.4=d&Nic.1.Subnet=s&Nic.1.Group.1=g&Nic.2.Index=7&Tag.1.Key=k&Tag.1.Value=v&Tag.2.Key=l&Tagged=true&Count=x")
	if err != nil {
		t.Fatal(err)
	}
	f := form.Form{Values: values}
	if got := f.List("Group"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("a list ends at the first gap: %v", got)
	}
	nics := f.Each("Nic")
	if len(nics) != 2 || nics[0].Get("Subnet") != "s" || !slices.Equal(nics[0].List("Group"), []string{"g"}) || nics[1].Number("Index") != 7 || nics[1].Has("Subnet") {
		t.Errorf("structures are %v", nics)
	}
	if tags := f.Tags("Tag"); !maps.Equal(tags, map[string]string{"k": "v", "l": ""}) {
		t.Errorf("tags are %v", tags)
	}
	if !f.Yes("Tagged") || f.Yes("Group") || f.Number("Count") != 0 || !f.Has("Nic") || f.Has("Ni") {
		t.Error("a flag, a number, or the presence of a key is wrong")
	}
	if got := f.Without("Group", "Nic", "Tag"); !maps.Equal(got, map[string]string{"Tagged": "true", "Count": "x"}) {
		t.Errorf("the others are %v", got)
	}
	tags := map[string]string{"a": "1", "b": "2", "c": ""}
	f.SetTags("Spec.1.Tag", tags)
	if got := f.In("Spec.1").Tags("Tag"); !maps.Equal(got, tags) {
		t.Errorf("the set tags are %v", got)
	}
}
