package hollow

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// further are the node's resources besides cores, memory and pods, by the part of the kubelet that reports
// them.
type further struct {
	pages   []cadvisorapi.HugePagesInfo // of the machine
	devices v1.ResourceList             // extended resources, as from device plugins
	storage v1.ResourceList             // ephemeral-storage, or nothing
}

// parseResources parses quantities by the names of their resources. An error names the resource.
func parseResources(given map[string]string) (further, error) {
	f := further{devices: v1.ResourceList{}, storage: v1.ResourceList{}}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		q, err := resource.ParseQuantity(given[name])
		if err == nil && q.Sign() < 0 {
			err = errors.New("must not be negative")
		}
		if err == nil {
			err = f.add(v1.ResourceName(name), q)
		}
		if err != nil {
			return further{}, fmt.Errorf("--resources: %s=%q: %w", name, given[name], err)
		}
	}
	return f, nil
}

func (f *further) add(name v1.ResourceName, q resource.Quantity) error {
	switch {
	case name == v1.ResourceEphemeralStorage:
		f.storage[name] = q
	case v1helper.IsHugePageResourceName(name):
		return f.addPages(name, q)
	case v1helper.IsExtendedResourceName(name):
		if q.Cmp(*resource.NewQuantity(q.Value(), q.Format)) != 0 {
			return errors.New("must be a whole number")
		}
		f.devices[name] = q
	default:
		return fmt.Errorf("is neither huge pages, nor %s, nor an extended resource", v1.ResourceEphemeralStorage)
	}
	return nil
}

// addPages adds huge pages, whose size the machine has in KiB.
func (f *further) addPages(name v1.ResourceName, q resource.Quantity) error {
	size, err := v1helper.HugePageSizeFromResourceName(name)
	if err != nil {
		return err
	}
	if size.Value() < 1024 || v1helper.HugePageResourceName(*resource.NewQuantity(size.Value()/1024*1024, resource.BinarySI)) != name {
		return errors.New("names no size of pages, such as 2Mi or 1Gi")
	}
	if q.Value()%size.Value() != 0 {
		return errors.New("must be a whole number of pages")
	}
	f.pages = append(f.pages, cadvisorapi.HugePagesInfo{PageSize: uint64(size.Value() / 1024), NumPages: uint64(q.Value() / size.Value())})
	return nil
}
