package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/provider"
)

// The kinds of entities.
const (
	kindVM      = "vm"
	kindCluster = "cluster"
	kindImage   = "image"
	kindSubnet  = "subnet"
	kindProject = "project"
	kindHost    = "host"
)

// resolve returns the UUID of an entity that the field of a spec names. Like the original, it also reads an
// entity that the spec names by UUID, so that the error names the field.
func (s lookup) resolve(ctx context.Context, c *client, kind, field string, id machinev1.NutanixResourceIdentifier) (string, error) {
	if id.Type == machinev1.NutanixIdentifierName {
		return s.named(ctx, c, kind, field+".name", deref(id.Name))
	}
	uuid := deref(id.UUID)
	return c.resolved.Get(ctx, kind+" uuid "+uuid, func(ctx context.Context) (string, error) {
		err := c.call(ctx, http.MethodGet, "/"+kind+"s/"+url.PathEscape(uuid), nil, nil)
		if missing(err) {
			return "", provider.InvalidField(field+".uuid", "Prism Central has no %s with the UUID %q", kind, provider.Clip(uuid, 100))
		}
		return uuid, s.observe("read "+kind+" "+uuid, err)
	})
}

// named is the UUID of the only entity with a name. Clusters are filtered here, as the original does.
func (s lookup) named(ctx context.Context, c *client, kind, field, name string) (string, error) {
	filter := "name==" + name
	if kind == kindCluster || strings.ContainsAny(name, ";,()") { // characters of filters
		filter = ""
	}
	return c.resolved.Get(ctx, kind+" name "+name, func(ctx context.Context) (string, error) {
		var all []string
		for e, err := range each[entity](ctx, c, kind, filter) {
			if err != nil {
				return "", s.observe("look for the "+kind+" "+name, err)
			}
			if e.name() == name {
				all = append(all, e.uuid())
			}
		}
		if len(all) != 1 {
			return "", provider.InvalidField(field, "Prism Central has %d entities of the kind %s with the name %q", len(all), kind, provider.Clip(name, 100))
		}
		return all[0], nil
	})
}

// hasCategory reports whether a category has a value.
func (s lookup) hasCategory(ctx context.Context, c *client, key, value string) (bool, error) {
	return c.present.Get(ctx, key+"/"+value, func(ctx context.Context) (bool, error) {
		err := c.call(ctx, http.MethodGet, "/categories/"+url.PathEscape(key)+"/"+url.PathEscape(value), nil, nil)
		if missing(err) {
			return false, nil
		}
		return err == nil, s.observe("read the category "+key, err)
	})
}

// central is Prism Central itself: one of the clusters that it lists has the service.
func (s lookup) central(ctx context.Context, c *client) (entity, error) {
	return c.account.Get(ctx, "", func(ctx context.Context) (entity, error) {
		var all []entity
		for e, err := range each[entity](ctx, c, kindCluster, "") {
			if err != nil {
				return entity{}, s.observe("look for the cluster of Prism Central", err)
			}
			for _, service := range e.Status.Resources.Config.Services {
				if strings.EqualFold(service, "PRISM_CENTRAL") {
					all = append(all, e)
					break
				}
			}
		}
		if len(all) != 1 {
			return entity{}, provider.Errorf(provider.Transient, "the user sees %d clusters with the service PRISM_CENTRAL, expected one", len(all))
		}
		return all[0], nil
	})
}

// gpu is a GPU in a request.
type gpu struct {
	DeviceID *int64 `json:"device_id,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Vendor   string `json:"vendor,omitempty"`
}

// gpus are the GPUs of a spec, as the hosts of the cluster have them. If all those of a model are in use, the
// cluster has no capacity; a model that no host has is a fault of the spec.
func (s lookup) gpus(ctx context.Context, c *client, cluster string) (out []gpu, err error) {
	if len(s.plan.GPUs) == 0 {
		return nil, nil
	}
	var all []hostGPU
	for h, err := range each[host](ctx, c, kindHost, "") {
		if err != nil {
			return nil, s.observe("look for GPUs", err)
		}
		if h.Status.Cluster.UUID == cluster {
			all = append(all, h.Status.Resources.GPUs...)
		}
	}
	for n, g := range s.plan.GPUs {
		one, known, free := pick(g, all)
		switch {
		case !known:
			return nil, provider.InvalidField(fmt.Sprintf("gpus[%d]", n), "no host of the cluster has a GPU %s", gpuName(g))
		case !free:
			return nil, provider.ExhaustedIn(provider.ScopeType, "gpus[%d]: all GPUs %s of the cluster are in use", n, gpuName(g))
		}
		out = append(out, one)
	}
	return out, nil
}

// unused is the status of a free GPU.
const unused = "UNUSED"

func pick(want machinev1.NutanixGPU, all []hostGPU) (one gpu, known, free bool) {
	for _, g := range all {
		byID := want.Type == machinev1.NutanixGPUIdentifierDeviceID
		if byID && (g.DeviceID == nil || *g.DeviceID != int64(deref(want.DeviceID))) || !byID && g.Name != deref(want.Name) {
			continue
		}
		known = true
		if g.Status == unused {
			return gpu{DeviceID: g.DeviceID, Mode: g.Mode, Vendor: g.Vendor}, true, true
		}
	}
	return gpu{}, known, false
}
