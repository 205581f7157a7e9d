package spec_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

// holds checks what is true of every spec, whatever it says.
func holds(t rapid.TB, a provider.Admission) {
	_, faults := spec.Admitter{}.Admit(a)
	for _, fault := range faults {
		if fault.Field != "providerSpec" && !strings.HasPrefix(fault.Field, "providerSpec.") {
			t.Errorf("%v is not about the spec", fault)
		}
	}
	filled, err := spec.Admitter{}.Default(a)
	if err != nil {
		if provider.KindOf(err) != provider.Invalid || len(faults) != 1 || faults[0].Field != "providerSpec" || faults[0].Type != field.ErrorTypeInvalid {
			t.Errorf("%s cannot be decoded (%v), and is admitted with %v", a.Spec, err, faults)
		}
		return
	}
	if lost := lostOf(value(t, a.Spec), value(t, filled)); lost != "" {
		t.Errorf("%s loses %s: %s", a.Spec, lost, filled)
	}
	a.Spec = filled
	again, err := spec.Admitter{}.Default(a)
	if err != nil || !bytes.Equal(filled, again) {
		t.Errorf("%s is filled in again (%v): %s", filled, err, again)
	}
	if _, left := (spec.Admitter{}).Admit(a); len(left) > len(faults) {
		t.Errorf("defaults make faults: %v, and before %v", left, faults)
	}
}

// value reads JSON with its numbers as they are written.
func value(t rapid.TB, raw []byte) (v any) {
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	if err := from.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// lostOf is the path of a value that was there and is not there any more. An empty one
// may become another.
func lostOf(was, is any) string {
	switch was := was.(type) {
	case nil:
		return ""
	case map[string]any:
		is, _ := is.(map[string]any)
		for name, value := range was {
			now, there := is[name]
			if !there {
				return "." + name
			}
			if lost := lostOf(value, now); lost != "" {
				return "." + name + lost
			}
		}
		return ""
	default:
		before, _ := json.Marshal(was)
		after, _ := json.Marshal(is)
		if string(before) == `""` || string(before) == string(after) {
			return ""
		}
		return " " + string(before)
	}
}

// names and texts are those that mean something, in a case or another, and some that do not.
var (
	names = strings.Fields(`template workspace server datacenter folder vmGroup network devices networkName ipAddrs userDataSecret credentialsSecret name
		tagIDs dataDisks sizeGiB provisioningMode numCPUs memoryMiB diskGiB cloneMode snapshot metadata labels rack`)
	texts = strings.Fields(`rhcos DC0 /DC0/vm/c1 Thin Thick EagerlyZeroed linkedClone disk_1 urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL`)
)

func anyValue(deep int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32Range(-1, 130).AsAny(), rapid.Float64Range(-3, 1e9).AsAny(),
		rapid.SampledFrom(texts).AsAny(), rapid.Just[any](""), rapid.String().AsAny(),
	}
	if deep > 0 {
		kinds = append(kinds, anyObject(deep-1).AsAny(), anyObject(deep-1).AsAny(), rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return anyValue(deep - 1) }), 0, 3).AsAny())
	}
	return rapid.OneOf(kinds...)
}

func anyObject(deep int) *rapid.Generator[map[string]any] {
	name := rapid.OneOf(rapid.SampledFrom(names), rapid.Map(rapid.SampledFrom(names), strings.ToUpper), rapid.StringMatching(`[a-zA-Z]{1,8}`))
	return rapid.MapOfN(name, rapid.Deferred(func() *rapid.Generator[any] { return anyValue(deep) }), 0, 8)
}

// Half of the specs are the whole one with some fields replaced, since few others decode.
func TestWhateverTheSpecSays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		drawn := anyObject(3).Draw(r, "fields")
		if rapid.Bool().Draw(r, "mostly whole") {
			base, _ := value(r, []byte(whole)).(map[string]any)
			drawn = merge(base, drawn)
		}
		raw, err := json.Marshal(drawn)
		if err != nil {
			r.Fatal(err)
		}
		a := admission(raw)
		a.ControlPlane = rapid.Bool().Draw(r, "control plane")
		a.Platform.Region = rapid.SampledFrom([]string{"", "us-east-1"}).Draw(r, "region")
		holds(r, a)
	})
}

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		whole, `{}`, `null`, `[]`, `"x"`, `{`, ``, `{"userDataSecret":null,"USERDATASECRET":{"name":1}}`,
		`{"template":7,"workspace":{"server":"vc","folder":"/vm/"},"network":{"devices":[{},{"networkName":1}]},"tagIDs":["urn:vmomi:InventoryServiceTag:x:y"]}`,
		`{"dataDisks":[{"name":"a b","sizeGiB":-1,"provisioningMode":"thin"},null],"cloneMode":"linkedClone","diskGiB":1.0,"memoryMiB":1e3,"numCPUs":1e400}`,
	} {
		f.Add([]byte(raw), true)
		f.Add([]byte(raw), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, controlPlane bool) {
		a := admission(raw)
		a.ControlPlane, a.Platform.Region = controlPlane, "us-east-1"
		at := time.Now()
		holds(t, a)
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
