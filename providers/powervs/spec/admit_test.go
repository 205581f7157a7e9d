package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/powervs/spec"
)

// minimal is what a person has to write.
const minimal = `{
	"keyPairName": "k",
	"serviceInstance": {"type": "ID", "id": "s"},
	"image": {"type": "Name", "name": "rhcos"},
	"network": {"type": "RegEx", "regex": "^DHCP"}
}`

// whole has the rest besides.
const whole = `{
	"keyPairName": "k",
	"serviceInstance": {"type": "ID", "id": "s"},
	"image": {"type": "Name", "name": "rhcos"},
	"network": {"type": "RegEx", "regex": "^DHCP"},
	"userDataSecret": {"name": "u"}, "credentialsSecret": {"name": "c"},
	"systemType": "s922", "processorType": "Shared", "processors": "0.5", "memoryGiB": 32
}`

// sized is a machine of a system type with as much memory, or processors.
func sized(systemType, name string, value any) string {
	return fmt.Sprintf(`{"systemType":%q,%q:%v}`, systemType, name, value)
}

// rule is a change to a whole spec, as a merge patch, and what is said of it.
type rule struct {
	name, change string
	faults       []string // type and path
	warning      string   // the prefix of the only one; empty: no warning
	reason       string
}

var references = []rule{
	{"whole", `{}`, nil, "", "all that is asked for is there"},
	{"unknown field", `{"more":1}`, nil, "", "what is unknown is the envelope's business"},
	{"no keyPairName", `{"keyPairName":null}`, []string{"Required keyPairName"}, "", "it is required"},
	{"empty keyPairName", `{"keyPairName":""}`, []string{"Required keyPairName"}, "", "empty is missing"},

	{"no serviceInstance", `{"serviceInstance":null}`, []string{"Required serviceInstance"}, "", "it is required"},
	{"serviceInstance by Name", `{"serviceInstance":{"type":"Name","name":"n"}}`, nil, "", "a name will do"},
	{"serviceInstance by RegEx", `{"serviceInstance":{"type":"RegEx","regex":"x"}}`, []string{"Invalid serviceInstance"}, "", "only networks are found so"},
	{"serviceInstance by RegEx that is missing", `{"serviceInstance":{"type":"RegEx"}}`, []string{"Invalid serviceInstance", "Required serviceInstance.regex"}, "", "both are said"},
	{"serviceInstance ID missing", `{"serviceInstance":{"id":null}}`, []string{"Required serviceInstance.id"}, "", "the type asks for it"},
	{"serviceInstance ID empty", `{"serviceInstance":{"id":""}}`, nil, "", "the original takes empty text"},
	{"no image", `{"image":null}`, []string{"Required image"}, "", "it is required"},
	{"image by ID", `{"image":{"type":"ID","id":"i"}}`, nil, "", "an ID will do"},
	{"image by RegEx", `{"image":{"type":"RegEx","regex":"x"}}`, []string{"Invalid image"}, "", "only networks are found so"},
	{"image name missing", `{"image":{"name":null,"id":"i"}}`, []string{"Required image.name"}, "", "the type asks for it"},
	{"no network", `{"network":null}`, []string{"Required network"}, "", "it is required"},
	{"network by ID", `{"network":{"type":"ID","id":"i"}}`, nil, "", "an ID will do"},
	{"network by Name", `{"network":{"type":"Name","name":"n"}}`, nil, "", "a name will do"},
	{"network regex missing", `{"network":{"regex":null}}`, []string{"Required network.regex"}, "", "the type asks for it"},
	{"network regex that is none", `{"network":{"regex":"("}}`, nil, "", "the original does not read it"},
	{"network type unknown", `{"network":{"type":"regex"}}`, []string{"Invalid network"}, "", "told apart by case"},

	{"no userDataSecret", `{"userDataSecret":null}`, []string{"Required userDataSecret"}, "", "it is required once defaults are filled in"},
	{"userDataSecret unnamed", `{"userDataSecret":{"name":""}}`, []string{"Required userDataSecret.name"}, "", "no default replaces it"},
	{"no credentialsSecret", `{"credentialsSecret":null}`, []string{"Required credentialsSecret"}, "", "it is required once defaults are filled in"},
	{"credentialsSecret unnamed", `{"credentialsSecret":{"name":""}}`, []string{"Required credentialsSecret.name"}, "", "no default replaces it"},

	{"names in another case", `{"keyPairName":null,"KeyPairName":"k"}`, nil, "", "the original reads them"},
	{"a number for a text", `{"keyPairName":4}`, nil, "", "the original reads it"},
}

var sizes = []rule{
	{"s922 942 GiB", sized("s922", "memoryGiB", 942), nil, "", "as much as may be"},
	{"s922 943 GiB", sized("s922", "memoryGiB", 943), []string{"Invalid memoryGiB"}, "", "one more"},
	{"e880 7463 GiB", sized("e880", "memoryGiB", 7463), nil, "", "as much as may be"},
	{"e880 7464 GiB", sized("e880", "memoryGiB", 7464), []string{"Invalid memoryGiB"}, "", "one more"},
	{"e980 15307 GiB", sized("e980", "memoryGiB", 15307), nil, "", "as much as may be"},
	{"e980 15308 GiB", sized("e980", "memoryGiB", 15308), []string{"Invalid memoryGiB"}, "", "one more"},
	{"31 GiB", sized("s922", "memoryGiB", 31), nil, "providerSpec.memoryGiB: 31 is less than 32", "32 at least"},
	{"0 GiB", sized("s922", "memoryGiB", 0), nil, "providerSpec.memoryGiB: 0 is less than 32", "an update is not defaulted"},
	{"-1 GiB", sized("s922", "memoryGiB", -1), []string{"Invalid memoryGiB"}, "", "none can be negative"},

	{"s922 15 processors", sized("s922", "processors", 15), nil, "", "as many as may be"},
	{"s922 15.25 processors", sized("s922", "processors", `"15.25"`), []string{"Invalid processors"}, "", "a quarter more"},
	{"e880 143 processors", sized("e880", "processors", `"143"`), nil, "", "as many as may be"},
	{"e880 144 processors", sized("e880", "processors", 144), []string{"Invalid processors"}, "", "one more"},
	{"e980 143 processors", sized("e980", "processors", 143), nil, "", "as many as may be"},
	{"e980 144 processors", sized("e980", "processors", 144), []string{"Invalid processors"}, "", "one more"},
	{"0.25 processors", sized("s922", "processors", `"0.25"`), nil, "providerSpec.processors: 0.25 is less than 0.5", "0.5 at least"},
	{"no processors", sized("s922", "processors", 0), nil, "providerSpec.processors: 0 is less than 0.5", "an update is not defaulted"},
	{"-1 processors", sized("s922", "processors", -1), []string{"Invalid processors"}, "", "none can be negative"},
	{"-0.5 processors", sized("s922", "processors", `"-0.5"`), []string{"Invalid processors"}, "", "none can be negative"},
	{"half a dedicated processor", `{"processorType":"Dedicated"}`, nil, "providerSpec.processors: 0.5 is less than 1", "1 at least"},
	{"one dedicated processor", `{"processorType":"Dedicated","processors":1}`, nil, "", "as few as may be"},
	{"one and a half dedicated processors", `{"processorType":"Dedicated","processors":"1.5"}`, nil, "", "the original does not ask for whole ones"},
	{"half a capped processor", `{"processorType":"Capped"}`, nil, "", "as few as may be"},
	{"processorType unknown", `{"processorType":"Free"}`, nil, "", "the original does not read it"},
	{"processors that are no number", sized("s922", "processors", `"many"`), []string{"Invalid processors"}, "", "a text that is a number"},
	{"empty processors", sized("s922", "processors", `""`), []string{"Invalid processors"}, "", "an update is not defaulted"},
	{"infinite processors", sized("s922", "processors", `"Inf"`), []string{"Invalid processors"}, "", "more than there are"},
	{"NaN processors", sized("s922", "processors", `"NaN"`), nil, "providerSpec.processors: NaN is less than 0.5", "the original takes it, and it is not meant"},
	{"both wrong", `{"memoryGiB":943,"processors":16}`, []string{"Invalid memoryGiB", "Invalid processors"}, "", "both are said"},

	{"systemType unknown", `{"systemType":"s1022","memoryGiB":99999,"processors":1000}`, nil, `providerSpec.systemType: "s1022" is not one of e880, e980, s922`, "nothing is known of its limits"},
	{"systemType unknown, all negative", `{"systemType":"s1022","memoryGiB":-1,"processors":"many"}`, nil, `providerSpec.systemType: "s1022" is not one of`, "the original looks no further"},
	{"systemType empty", `{"systemType":""}`, nil, `providerSpec.systemType: "" is not one of`, "an update is not defaulted"},
}

func TestAdmit(t *testing.T) {
	for _, r := range slices.Concat(references, sizes) {
		t.Run(r.name, func(t *testing.T) {
			raw := admissiontest.Patched(t, whole, r.change)
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(raw))
			if got := listed(faults); !slices.Equal(got, r.faults) {
				t.Errorf("%q are the faults, want %q: %s", got, r.faults, r.reason)
			}
			said := strings.Join(warnings, "\n")
			if (said == "") != (r.warning == "") || !strings.HasPrefix(said, r.warning) || len(warnings) > 1 {
				t.Errorf("warns %q, want %q: %s", said, r.warning, r.reason)
			}
		})
	}
}

// listed is type and path of each fault, without the beginning that they all have.
func listed(faults field.ErrorList) (out []string) {
	kinds := map[field.ErrorType]string{field.ErrorTypeRequired: "Required", field.ErrorTypeInvalid: "Invalid"}
	for _, f := range faults {
		out = append(out, kinds[f.Type]+" "+strings.TrimPrefix(f.Field, "providerSpec."))
	}
	return out
}

func TestUndecodable(t *testing.T) {
	for _, raw := range []string{``, `[]`, `"x"`, `{`, `kind: x`, `{"image":1}`, `{"memoryGiB":"32"}`, `{"processors":0.5}`, `{"processors":{}}`} {
		warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission([]byte(raw)))
		if len(faults) != 1 || faults[0].Field != "providerSpec" || faults[0].Type != field.ErrorTypeInvalid || len(warnings) > 0 {
			t.Errorf("%s: faults %v and warnings %q, want one fault of the whole", raw, faults, warnings)
		}
		if _, err := (spec.Admitter{}).Default(admissiontest.Admission([]byte(raw))); provider.KindOf(err) != provider.Invalid {
			t.Errorf("%s: Default says %v, want that it is Invalid", raw, err)
		}
	}
	_, faults := spec.Admitter{}.Admit(admissiontest.Admission([]byte(`{"image":"` + strings.Repeat("x", 1<<20) + `"}`)))
	if said := faults.ToAggregate().Error(); len(said) > 1<<10 {
		t.Errorf("%d bytes are said of a long spec", len(said))
	}
}
