package cloud_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/dev/clouds/kubevirt"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/kubevirt/spec"
)

// row says where the virtual machine that the API server received has a field and its subfields, or why it
// has no such field.
type row struct {
	field string
	// at is a path in the virtual machine; [name] is the element of a list that has the name.
	at string
	// want is the value there; nil: the spec's value.
	want any
	why  string
}

const (
	template = "spec.template.spec"
	domain   = template + ".domain"
)

// machineRows are the rows of both APIs.
var machineRows = []row{
	{field: "region", at: template + `.nodeSelector.topology\.kubernetes\.io/region`},
	{field: "zone", at: template + `.nodeSelector.topology\.kubernetes\.io/zone`},
	{field: "resources", at: domain + ".resources"},
	{field: "cpu", at: domain + ".cpu"},
	{field: "memory", at: domain + ".memory"},
	{field: "devices.disks[]", at: domain + ".devices.disks[]"},
	{field: "devices.rng", at: domain + ".devices.rng"},
	{field: "devices.blockMultiQueue", at: domain + ".devices.blockMultiQueue"},
	{field: "devices.networkInterfaceMultiqueue", at: domain + ".devices.networkInterfaceMultiqueue"},
	{field: "rootVolume", at: "spec.dataVolumeTemplates[0].spec"},
	{field: "additionalVolumes[].name", why: "the name of the volume and of its disk; the default is `disk-` and the index of the volume: TestNames"},
	{field: "additionalVolumes[].dataVolume", at: "spec.dataVolumeTemplates[1].spec"},
	{field: "additionalVolumes[].volumeSource.persistentVolumeClaim", at: template + ".volumes[claim].persistentVolumeClaim"},
	{field: "additionalVolumes[].volumeSource.configMap", at: template + ".volumes[map].configMap"},
	{field: "additionalVolumes[].volumeSource.secret", at: template + ".volumes[secret].secret"},
	{field: "networks[].name", at: template + ".networks[net-0].multus.networkName"},
	{field: "networks[].default", why: "if true, the VirtualMachine has no pod network; for `machine.sapcloud.io`, `multus.default` is also true: TestNetworks"},
	{field: "sshKeys[]", why: "a new Secret with one key for each element; `" + template + ".accessCredentials` names this Secret: TestSecrets"},
	{field: "dnsPolicy", at: template + ".dnsPolicy"},
	{field: "dnsConfig", at: template + ".dnsConfig"},
	{field: "tags", at: "metadata.labels[]", why: ""},
}

// selfRows are the fields that identify a spec.
var selfRows = []row{
	{field: "apiVersion", why: "has no effect"},
	{field: "kind", why: "has no effect"},
	{field: "metadata", why: "has no effect"},
}

var openshiftRows = slices.Concat(selfRows, machineRows, []row{
	{field: "userDataSecret.name", why: "names the Secret with the key `userData`, which the guest receives as user data"},
	{field: "credentialsSecret.name", why: "names the Secret with the key `kubeconfig`, which gives access to the KubeVirt cluster"},
	{field: "ignitionSecretName", why: "the same as `userDataSecret.name`"},
	{field: "credentialsSecretName", why: "the same as `credentialsSecret.name`"},
	{field: "sourcePvcName", at: "spec.dataVolumeTemplates[0].spec.source.pvc.name", want: "rhcos"},
	{field: "requestedStorage", at: "spec.dataVolumeTemplates[0].spec.pvc.resources.requests.storage", want: "50Gi"},
	{field: "storageClassName", at: "spec.dataVolumeTemplates[0].spec.pvc.storageClassName", want: "fast"},
	{field: "persistentVolumeAccessMode", at: "spec.dataVolumeTemplates[0].spec.pvc.accessModes", want: []any{"ReadOnlyMany"}},
	{field: "requestedMemory", at: domain + ".resources.requests.memory", want: "8Gi"},
	{field: "requestedCPU", at: domain + ".resources.requests.cpu", want: "4"},
	{field: "networkName", at: template + ".networks[net-0].multus.networkName", want: "storage"},
})

var gardenerRows = slices.Concat(selfRows, machineRows)

// original is a spec with all fields of OpenShift's original.
const original = `{"sourcePvcName":"rhcos","requestedStorage":"50Gi","storageClassName":"fast","persistentVolumeAccessMode":"ReadOnlyMany",` +
	`"requestedMemory":"8Gi","requestedCPU":4,"networkName":"storage","ignitionSecretName":"u","credentialsSecretName":"c"}`

// leaves returns the paths and types of all leaf fields of a type. Only the first additional volume is
// listed: CDI gets the same fields for the others.
func leaves(t reflect.Type, at string) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && at != "" && t.Elem().Kind() != reflect.String {
		return leaves(t.Elem(), at+"[]")
	}
	if t.Kind() != reflect.Struct || t.NumField() == 0 || t == reflect.TypeFor[resource.Quantity]() || at == "metadata" || at == "additionalVolumes[].dataVolume" {
		if t.Kind() == reflect.Slice {
			at += "[]"
		}
		return map[string]reflect.Type{at: t}
	}
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			maps.Copy(all, leaves(f.Type, at))
			continue
		}
		maps.Copy(all, leaves(f.Type, strings.TrimPrefix(at+"."+name, ".")))
	}
	return all
}

// sample returns a value with all fields of a type.
func sample(t reflect.Type) any {
	switch {
	case t.Kind() == reflect.Pointer:
		return sample(t.Elem())
	case t == reflect.TypeFor[resource.Quantity]():
		return "4Gi"
	case t == reflect.TypeFor[corev1.ResourceList]():
		return map[string]any{"cpu": "2", "memory": "4Gi", "storage": "20Gi"}
	case t.Kind() == reflect.Slice:
		return []any{sample(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"key": "value"}
	case t.Kind() == reflect.Struct:
		all := map[string]any{}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			all[name] = sample(f.Type)
		}
		return all
	case t.Kind() == reflect.Bool:
		return true
	case t.Kind() == reflect.String:
		return "text"
	}
	return 3.0
}

// documents are specs that together have all fields of a machine: some fields exclude each other.
func documents() (all []map[string]any) {
	whole := func() map[string]any {
		m, _ := sample(reflect.TypeFor[spec.Machine]()).(map[string]any)
		m["dnsPolicy"] = "None"
		m["networks"] = []any{map[string]any{"name": "storage", "default": true}}
		m["zone"] = "zone-1"
		m["tags"] = map[string]any{"key": "value"}
		volume := m["rootVolume"].(map[string]any)
		delete(volume, "sourceRef")
		delete(volume, "storage")
		volume["source"] = map[string]any{"blank": map[string]any{}}
		m["additionalVolumes"] = []any{
			map[string]any{"name": "data", "dataVolume": volume}, source("claim", "persistentVolumeClaim"), source("map", "configMap"), source("secret", "secret"),
		}
		var disks []any
		for disk, kind := range map[string]string{"root-disk": "disk", "data": "lun", "claim": "cdrom"} {
			d, _ := sample(reflect.TypeFor[spec.Disk]()).(map[string]any)
			for _, other := range []string{"disk", "lun", "cdrom"} {
				if other != kind {
					delete(d, other)
				}
			}
			d["name"] = disk
			disks = append(disks, d)
		}
		m["devices"].(map[string]any)["disks"] = disks
		return m
	}
	kinds, _ := sample(reflect.TypeFor[spec.Source]()).(map[string]any)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		m := whole()
		m["rootVolume"].(map[string]any)["source"] = map[string]any{kind: kinds[kind]}
		all = append(all, m)
	}
	m := whole()
	volume, _ := sample(reflect.TypeFor[spec.DataVolume]()).(map[string]any)
	delete(volume, "source")
	delete(volume, "pvc")
	m["rootVolume"] = volume
	return append(all, m)
}

func source(name, kind string) map[string]any {
	all, _ := sample(reflect.TypeFor[spec.VolumeSource]()).(map[string]any)
	return map[string]any{"name": name, "volumeSource": map[string]any{kind: all[kind]}}
}

var steps = regexp.MustCompile(`((?:\\\.|[^.\[])+)(?:\[([^]]*)])?`)

// under returns the value of a document at a path; brackets choose an element of a list by name or index, or
// all elements if empty, or leave a map as it is.
func under(document any, path string) any {
	for _, s := range steps.FindAllStringSubmatch(path, -1) {
		fields, ok := document.(map[string]any)
		if !ok {
			return nil
		}
		document = fields[strings.ReplaceAll(s[1], `\.`, ".")]
		list, ok := document.([]any)
		if !ok || s[2] == "" {
			continue
		}
		n, err := strconv.Atoi(s[2])
		if err != nil {
			n = slices.IndexFunc(list, func(e any) bool { return e.(map[string]any)["name"] == s[2] })
		}
		if n < 0 || n >= len(list) {
			return nil
		}
		document = list[n]
	}
	return document
}

// first returns the value of a spec at the path of a row; for lists, that of any element.
func first(document any, path string) any {
	name, rest, nested := strings.Cut(path, "[].")
	value := under(document, strings.TrimSuffix(name, "[]"))
	list, ok := value.([]any)
	if !ok || !nested {
		return value
	}
	for _, element := range list {
		if found := first(element, rest); found != nil {
			return found
		}
	}
	return nil
}

// made returns the virtual machine that is created for a spec.
func made(t *testing.T, b *bench, api string, document any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	class := b.class(api, "c1")
	class.Spec = raw
	ref := machineRef("m-" + strconv.Itoa(len(b.cloud.Instances())))
	i, err := b.session(class).Create(t.Context(), ref, provider.Want{UserData: []byte("#cloud-config")})
	if err != nil {
		t.Fatalf("%s becomes %v", raw, err)
	}
	return b.cloud.Object("virtualmachines", "demo", i.ID)
}

func TestFields(t *testing.T) {
	for api, rows := range map[string][]row{provider.OpenShift: openshiftRows, provider.Gardener: gardenerRows} {
		t.Run(api, func(t *testing.T) {
			b := newBench(t, func(o *kubevirt.Options) { o.AcceptAny = true })
			all := documents()
			if api == provider.OpenShift {
				var old map[string]any
				if err := json.Unmarshal([]byte(original), &old); err != nil {
					t.Fatal(err)
				}
				all = append(all, old)
			}
			seen := map[string]bool{}
			for _, document := range all {
				machine := made(t, b, api, document)
				for _, r := range rows {
					r.holds(t, document, machine, seen)
				}
			}
			for _, r := range rows {
				if !seen[r.field] && r.why == "" {
					t.Errorf("nobody has sent %s", r.field)
				}
			}
		})
	}
}

// holds searches for the values of a spec in the virtual machine.
func (r row) holds(t *testing.T, document, machine map[string]any, seen map[string]bool) {
	t.Helper()
	given := first(document, r.field)
	if given == nil || r.why != "" {
		return
	}
	seen[r.field] = true
	got, want := under(machine, r.at), given
	if r.want != nil {
		want = r.want
	}
	switch list, isList := want.([]any); {
	case strings.HasSuffix(r.at, "labels[]"):
		got = map[string]any{"key": got.(map[string]any)["key"]}
	case isList && strings.HasSuffix(r.at, "disks[]"):
		// KubeVirt's disks have the order of the volumes, and there are more of them.
		for _, d := range list {
			name, _ := d.(map[string]any)["name"].(string)
			if is := under(machine, domain+".devices.disks["+name+"]"); !reflect.DeepEqual(is, d) {
				t.Errorf("disk %s is\n%v, want\n%v", name, is, d)
			}
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %s is\n%v, want\n%v", r.field, r.at, got, want)
	}
}

// TestRowsAreComplete: each field has a row, each row a field, and one of the sent specs has each field.
func TestRowsAreComplete(t *testing.T) {
	for api, shape := range shapes {
		all := documents()
		if api == provider.OpenShift {
			var old map[string]any
			_ = json.Unmarshal([]byte(original), &old)
			all = append(all, old)
		}
		used := map[string]bool{}
		for path := range leaves(shape, "") {
			r, ok := rowOf(api, path)
			if !ok {
				t.Errorf("%s: %s has no row", api, path)
				continue
			}
			used[r.field] = true
			sent := slices.ContainsFunc(all, func(d map[string]any) bool { return first(d, path) != nil })
			if !sent && r.why == "" {
				t.Errorf("%s: no spec has %s", api, path)
			}
		}
		for _, r := range rowsOf[api] {
			if !used[r.field] {
				t.Errorf("%s: there is no field %s", api, r.field)
			}
		}
	}
}

var (
	shapes = map[string]reflect.Type{provider.OpenShift: reflect.TypeFor[spec.OpenShift](), provider.Gardener: reflect.TypeFor[spec.Gardener]()}
	rowsOf = map[string][]row{provider.OpenShift: openshiftRows, provider.Gardener: gardenerRows}
)

// rowOf returns the row of a field: its own, or that of a parent field.
func rowOf(api, path string) (found row, ok bool) {
	for _, r := range rowsOf[api] {
		if path == r.field || strings.HasPrefix(path, r.field+".") || strings.HasPrefix(path, r.field+"[") {
			if len(r.field) > len(found.field) {
				found, ok = r, true
			}
		}
	}
	return found, ok
}

func TestNames(t *testing.T) {
	b := newBench(t)
	raw := admissiontest.Patched(t, gardenerSpec, `{"additionalVolumes":[{"dataVolume":{"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"1Gi"}}}}}]}`)
	var document any
	_ = json.Unmarshal(raw, &document)
	machine := made(t, b, provider.Gardener, document)
	if under(machine, template+".volumes[disk-0].dataVolume.name") == nil || under(machine, domain+".devices.disks[disk-0].disk.bus") != "virtio" {
		t.Errorf("there is no disk-0 on the bus virtio in %v", machine)
	}
}

func TestNetworks(t *testing.T) {
	for _, r := range []struct {
		reason, api, networks string
		pods                  bool
		isDefault             any
	}{
		{"pods have a network", provider.Gardener, `[]`, true, nil},
		{"others come besides", provider.Gardener, `[{"name":"storage"}]`, true, nil},
		{"or stand in for it", provider.Gardener, `[{"name":"storage","default":true}]`, false, true},
		{"which is not the pod's then", provider.OpenShift, `[{"name":"storage","default":true}]`, false, nil},
	} {
		t.Run(r.reason, func(t *testing.T) {
			var document any
			_ = json.Unmarshal(admissiontest.Patched(t, gardenerSpec, `{"networks":`+r.networks+`}`), &document)
			machine := made(t, newBench(t), r.api, document)
			if is := under(machine, template+".networks[default].pod") != nil; is != r.pods {
				t.Errorf("the network of pods is there: %t, want %t", is, r.pods)
			}
			if is := under(machine, template+".networks[net-0].multus.default"); is != r.isDefault {
				t.Errorf("default is %v, want %v", is, r.isDefault)
			}
		})
	}
}

// typeName is JSON's word for a type.
func typeName(t reflect.Type) string {
	if t == reflect.TypeFor[resource.Quantity]() {
		return "quantity"
	}
	return cmp.Or(map[reflect.Kind]string{
		reflect.Bool: "boolean", reflect.Map: "map", reflect.Struct: "object", reflect.Slice: "list", reflect.String: "string",
	}[t.Kind()], "integer")
}
