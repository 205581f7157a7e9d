package gce

import (
	"io"
	"net/http"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Guests implements [double.Host]. Nodes have the names of their instances. The provider ID is that of the cloud controller
// manager, which has two slashes before the project.
func (c *Cloud) Guests() (all []double.Guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, i := range c.instances.All() {
		if i.status() != "RUNNING" {
			continue
		}
		g := double.Guest{
			ID: i.id, NodeName: i.name, ProviderID: "gce://" + i.project + "/" + i.zone + "/" + i.name, UserData: []byte(i.userData()),
			Boots: i.boots, Region: regionOf(i.zone), Zone: i.zone, Type: i.machineType(),
		}
		for _, n := range i.is.parts("networkInterfaces") {
			g.Addresses = append(g.Addresses, n.text("networkIP"))
		}
		if m, ok := c.options.Inventory.machineType(i.zone, g.Type); ok {
			g.VCPUs, g.MemoryMiB = m.VCPUs, m.MemoryMiB
		}
		all = append(all, g)
	}
	return all
}

func (i instance) meta(key string) (string, bool) {
	m, ok := find(i.is.part("metadata").parts("items"), func(m resource) bool { return m.text("key") == key })
	return m.text("value"), ok
}

// userData is the guest's user data, from the metadata key that its operating system reads.
func (i instance) userData() string {
	for _, key := range []string{"user-data", "startup-script", "sysprep-specialize-script-ps1"} {
		if v, ok := i.meta(key); ok {
			return v
		}
	}
	return ""
}

// MetadataPath is the path of the instances' metadata servers: below it and the instance's ID,
// computeMetadata/v1/...
const MetadataPath = "/metadata/"

// serveMetadata answers like the metadata server, which refuses requests without the header Metadata-Flavor.
func serveMetadata(c *Cloud, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Metadata-Flavor", "Google")
	if r.Header.Get("Metadata-Flavor") != "Google" {
		http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
		return
	}
	id, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, MetadataPath), "/computeMetadata/v1/")
	i, ok := c.instances.Get(id)
	text := ""
	if ok {
		text, ok = metadataOf(c, i, path)
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/text")
	_, _ = io.WriteString(w, text)
}

func metadataOf(c *Cloud, i instance, path string) (string, bool) {
	if key, ok := strings.CutPrefix(path, "instance/attributes/"); ok {
		return i.meta(key)
	}
	switch path {
	case "instance/preempted":
		if i.preempted {
			return "TRUE", true
		}
		return "FALSE", true
	case "instance/maintenance-event":
		return "NONE", true
	case "instance/name":
		return i.name, true
	case "instance/id":
		return i.id, true
	case "instance/hostname":
		return i.name + "." + i.zone + ".c." + i.project + ".internal", true
	case "instance/zone":
		return "projects/" + c.options.Inventory.Number + "/zones/" + i.zone, true
	case "instance/machine-type":
		return "projects/" + c.options.Inventory.Number + "/machineTypes/" + i.machineType(), true
	case "project/project-id":
		return i.project, true
	}
	return "", false
}
