package kubemark

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Capacity is the part of a spec about the capacity of nodes. Omitted fields are those that the class
// declares outside its spec, or else have a default.
type Capacity struct {
	// NumCores is the CPU capacity in whole cores. Default: 4.
	NumCores *resource.Quantity `json:"numCores,omitempty"`
	// MemoryCapacity is the memory as a quantity. Default: 16Gi.
	MemoryCapacity *resource.Quantity `json:"memoryCapacity,omitempty"`
	// MaxPods is the pod capacity. Default: 110.
	MaxPods *int64 `json:"maxPods,omitempty"`
	// GPUs counts nvidia.com/gpu. Default: 0.
	GPUs *int64 `json:"gpus,omitempty"`
	// Resources are further resources of nodes, by the names in pods' requests: huge pages ("hugepages-2Mi"),
	// "ephemeral-storage" and extended resources ("example.com/fpga"). Nodes do not list resources with the
	// amount 0.
	Resources map[corev1.ResourceName]resource.Quantity `json:"resources,omitempty"`
}

// classGPUs is the resource in which a class declares accelerators outside its spec.
const classGPUs corev1.ResourceName = "gpu"

// entry is the amount of one resource, and the path of the field.
type entry struct {
	path   string
	amount resource.Quantity
}

// entries are the amounts in a spec.
func (c Capacity) entries() map[corev1.ResourceName]entry {
	out := map[corev1.ResourceName]entry{}
	for name, amount := range c.Resources {
		out[name] = entry{"resources[" + shown(string(name)) + "]", amount}
	}
	for _, f := range []struct {
		name   corev1.ResourceName
		path   string
		amount *resource.Quantity
	}{
		{corev1.ResourceCPU, "numCores", c.NumCores},
		{corev1.ResourceMemory, "memoryCapacity", c.MemoryCapacity},
		{corev1.ResourcePods, "maxPods", counted(c.MaxPods)},
		{cloud.GPU, "gpus", counted(c.GPUs)},
	} {
		if f.amount != nil {
			out[f.name] = entry{f.path, *f.amount}
		}
	}
	return out
}

func counted(n *int64) *resource.Quantity {
	if n == nil {
		return nil
	}
	return resource.NewQuantity(*n, resource.DecimalSI)
}

// declared are the amounts that a class declares outside its spec. Names that no node of kubemark can have
// are ignored.
func declared(list corev1.ResourceList) map[corev1.ResourceName]entry {
	out := map[corev1.ResourceName]entry{}
	for name, amount := range list {
		at := entry{"nodeTemplate.capacity[" + shown(string(name)) + "]", amount}
		_, twice := list[cloud.GPU]
		switch {
		case name == classGPUs && !twice:
			out[cloud.GPU] = at
		case named(name), checkResourceName(name) == nil:
			out[name] = at
		}
	}
	return out
}

// named reports whether a spec has a separate field for the resource.
func named(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourcePods
}

// capacity is the capacity of nodes, in cores, bytes and pieces, without amounts of 0.
type capacity map[corev1.ResourceName]int64

// capacityOf is the capacity of the nodes of a class: that of the spec, or else that declared by the class,
// or else the default.
func capacityOf(spec Capacity, class corev1.ResourceList) (capacity, error) {
	defaults := Capacity{
		NumCores:       resource.NewQuantity(defaultCores, resource.DecimalSI),
		MemoryCapacity: resource.NewQuantity(defaultMemory, resource.BinarySI),
		MaxPods:        ptr.To[int64](defaultMaxPods),
	}
	all := defaults.entries()
	maps.Copy(all, declared(class))
	maps.Copy(all, spec.entries())
	if errs := checkEntries(all); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	out := capacity{}
	for name, e := range all {
		if n, _ := whole(e.amount); n > 0 {
			out[name] = n
		}
	}
	return out, nil
}

// further is the capacity without the resources that every node has.
func (c capacity) further() map[corev1.ResourceName]int64 {
	out := maps.Clone(c)
	maps.DeleteFunc(out, func(name corev1.ResourceName, _ int64) bool { return named(name) })
	if len(out) == 0 {
		return nil
	}
	return out
}

// checkCapacity checks the capacity in a spec.
func checkCapacity(s Spec) (errs []error) {
	if _, twice := s.Resources[cloud.GPU]; twice && s.GPUs != nil {
		errs = append(errs, provider.InvalidField("resources["+string(cloud.GPU)+"]", "must not be set together with gpus"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Resources)) {
		if len(errs) > mostFaults {
			return errs
		}
		if err := checkResourceName(name); err != nil {
			errs = append(errs, provider.InvalidField("resources["+shown(string(name))+"]", "%w", err))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return checkEntries(s.entries())
}

// checkEntries checks amounts, each alone and huge pages together.
func checkEntries(all map[corev1.ResourceName]entry) (errs []error) {
	memory, bounded := all[corev1.ResourceMemory]
	left, _ := whole(memory.amount)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(errs) > mostFaults {
			break
		}
		e := all[name]
		n, err := checkAmount(name, e.amount)
		if err == nil && bounded && strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			if left -= n; left < 0 {
				err = errors.New("huge pages exceed the memory")
			}
		}
		if err != nil {
			errs = append(errs, provider.InvalidField(e.path, "%w", err))
		}
	}
	return errs
}

// checkAmount checks the amount of one resource.
func checkAmount(name corev1.ResourceName, q resource.Quantity) (int64, error) {
	n, exact := whole(q)
	page := pageSize(name)
	switch {
	case n == math.MaxInt64:
		return 0, errors.New("is too large")
	case name == corev1.ResourceCPU && (n < 1 || !exact):
		return 0, fmt.Errorf("%s is not a whole number of cores, at least 1", &q)
	case name == corev1.ResourceMemory && n < 1<<20:
		return 0, fmt.Errorf("%s is less than 1Mi", &q)
	case name == corev1.ResourcePods && (n < 1 || n > math.MaxInt32 || !exact):
		return 0, fmt.Errorf("%s is not between 1 and %d", &q, math.MaxInt32)
	case n < 0:
		return 0, fmt.Errorf("%s is negative", &q)
	case page > 0 && (n%page != 0 || !exact):
		return 0, fmt.Errorf("%s is not a whole number of pages", &q)
	case strings.Contains(string(name), "/") && !exact:
		return 0, fmt.Errorf("%s is not a whole number", &q)
	}
	return n, nil
}

// whole returns an amount, rounded up, and whether it was whole. It returns math.MaxInt64 for larger amounts.
func whole(q resource.Quantity) (n int64, exact bool) {
	switch about := q.AsApproximateFloat64(); { // 1e999999999 has a billion digits: do not compute it
	case about >= math.MaxInt64:
		return math.MaxInt64, false
	case about < 0:
		return -1, false
	}
	n = q.Value()
	return n, q.Cmp(*resource.NewQuantity(n, resource.DecimalSI)) == 0
}

// mostPageDigits is the maximum length of a page size as text.
const mostPageDigits = 16

// pageSize is the page size of the huge pages of a name, in bytes; 0: the name is not of huge pages.
func pageSize(name corev1.ResourceName) int64 {
	text, is := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !is || len(text) > mostPageDigits || strings.ContainsAny(text, "eE") { // it could take long to compute
		return 0
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	n, _ := whole(q)
	return n
}

// checkResourceName returns why a node cannot have a resource of the name: API servers and kubelets accept no
// others.
func checkResourceName(name corev1.ResourceName) error {
	text := string(name)
	switch {
	case name == corev1.ResourceEphemeralStorage:
		return nil
	case named(name):
		return errors.New("is not allowed here: use numCores, memoryCapacity or maxPods")
	case strings.HasPrefix(text, corev1.ResourceHugePagesPrefix):
		page := pageSize(name)
		written := corev1.ResourceHugePagesPrefix + resource.NewQuantity(page, resource.BinarySI).String()
		if page <= 0 || page%1024 != 0 || page == math.MaxInt64 || text != written {
			return errors.New("has no page size such as 2Mi or 1Gi")
		}
		return nil
	case !strings.Contains(text, "/"), strings.Contains(text, "kubernetes.io/"), strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix):
		return fmt.Errorf("is not one of huge pages, %s, or an extended resource such as example.com/fpga", corev1.ResourceEphemeralStorage)
	}
	// The name of a quota has a prefix, with which the name must be valid too.
	if why := validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix + text); len(why) > 0 {
		return fmt.Errorf("is not a valid name of an extended resource: %s", strings.Join(why, "; "))
	}
	return nil
}
