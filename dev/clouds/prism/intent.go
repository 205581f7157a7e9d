package prism

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
)

// intent is a request to create or to change a virtual machine. Unknown fields are refused.
type intent struct {
	APIVersion string     `json:"api_version,omitempty"`
	Metadata   meta       `json:"metadata"`
	Spec       intentSpec `json:"spec"`
}

type meta struct {
	Kind       string              `json:"kind"`
	UUID       string              `json:"uuid,omitempty"`
	Project    *ref                `json:"project_reference,omitempty"`
	Owner      *ref                `json:"owner_reference,omitempty"`
	Version    *int                `json:"spec_version,omitempty"`
	Categories map[string]string   `json:"categories,omitempty"`
	Mapping    map[string][]string `json:"categories_mapping,omitempty"`
	UseMapping bool                `json:"use_categories_mapping,omitempty"`
}

type ref struct {
	Kind string `json:"kind"`
	UUID string `json:"uuid"`
	Name string `json:"name,omitempty"`
}

type intentSpec struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Cluster     *ref      `json:"cluster_reference,omitempty"`
	Resources   resources `json:"resources"`
}

type resources struct {
	Power          string         `json:"power_state,omitempty"`
	Clock          string         `json:"hardware_clock_timezone,omitempty"`
	VCPUsPerSocket int64          `json:"num_vcpus_per_socket,omitempty"`
	Sockets        int64          `json:"num_sockets,omitempty"`
	MemoryMiB      int64          `json:"memory_size_mib,omitempty"`
	NICs           []nic          `json:"nic_list,omitempty"`
	Disks          []disk         `json:"disk_list,omitempty"`
	GPUs           []gpu          `json:"gpu_list,omitempty"`
	Boot           *boot          `json:"boot_config,omitempty"`
	Customization  *customization `json:"guest_customization,omitempty"`
}

type nic struct {
	Subnet ref `json:"subnet_reference"`
}

type disk struct {
	UUID    string `json:"uuid,omitempty"`
	Source  *ref   `json:"data_source_reference,omitempty"`
	SizeMiB int64  `json:"disk_size_mib,omitempty"`
	Device  *struct {
		Type    string `json:"device_type"`
		Address *struct {
			Adapter string `json:"adapter_type"`
			Index   int    `json:"device_index"`
		} `json:"disk_address,omitempty"`
	} `json:"device_properties,omitempty"`
	Storage *struct {
		Flash     string `json:"flash_mode,omitempty"`
		Container *ref   `json:"storage_container_reference,omitempty"`
	} `json:"storage_config,omitempty"`
}

type gpu struct {
	DeviceID int64  `json:"device_id"`
	Mode     string `json:"mode,omitempty"`
	Vendor   string `json:"vendor,omitempty"`
}

type boot struct {
	Type  string   `json:"boot_type"`
	Order []string `json:"boot_device_order_list,omitempty"`
}

type customization struct {
	Overridable bool `json:"is_overridable,omitempty"`
	CloudInit   struct {
		UserData string `json:"user_data"`
	} `json:"cloud_init"`
}

func unprocessable(format string, args ...any) *failure {
	return refuse(http.StatusUnprocessableEntity, "INVALID_REQUEST", format, args...)
}

// decode reads an intent, and refuses what Prism Central refuses before it accepts a task.
func (c *store) decode(body []byte) (in intent, no *failure) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, refuse(http.StatusBadRequest, "DESERIALIZATION_FAILED", "%v", err)
	}
	for _, check := range []func(*intent) *failure{checkShape, checkDisks, c.checkReferences} {
		if no := check(&in); no != nil {
			return in, no
		}
	}
	return in, nil
}

func checkShape(in *intent) *failure {
	r := in.Spec.Resources
	switch {
	case in.Metadata.Kind != "vm":
		return unprocessable("The kind %q is invalid.", in.Metadata.Kind)
	case in.Spec.Name == "" || len(in.Spec.Name) > 256:
		return unprocessable("The name is invalid.")
	case len(in.Spec.Description) > 1000:
		return unprocessable("The description is too long.")
	case r.Sockets < 1 || r.VCPUsPerSocket < 1:
		return unprocessable("num_sockets and num_vcpus_per_socket must be 1 at least.")
	case r.MemoryMiB < 1:
		return unprocessable("memory_size_mib must be 1 at least.")
	case in.Spec.Cluster == nil:
		return unprocessable("cluster_reference is missing.")
	case r.Boot != nil && !slices.Contains([]string{"UEFI", "LEGACY", "SECURE_BOOT"}, r.Boot.Type):
		return unprocessable("boot_type is invalid.")
	case r.Power != "" && r.Power != "ON" && r.Power != "OFF":
		return unprocessable("power_state is invalid.")
	}
	if r.Customization != nil {
		if _, err := base64.StdEncoding.DecodeString(r.Customization.CloudInit.UserData); err != nil {
			return unprocessable("user_data is no base64 text.")
		}
	}
	return nil
}

func checkDisks(in *intent) *failure {
	for _, d := range in.Spec.Resources.Disks {
		switch {
		case d.SizeMiB < 1 && d.Source == nil:
			return unprocessable("A disk has no size.")
		case d.Storage != nil && !slices.Contains([]string{"", "ENABLED", "DISABLED"}, d.Storage.Flash):
			return unprocessable("flash_mode %q of a disk is invalid.", d.Storage.Flash)
		case d.Device != nil && !slices.Contains([]string{"DISK", "CDROM", "VOLUME_GROUP"}, d.Device.Type):
			return unprocessable("device_type of a disk is invalid.")
		}
	}
	return nil
}

func (c *store) checkReferences(in *intent) *failure {
	if _, ok := c.cluster(in.Spec.Cluster.UUID); !ok {
		return unprocessable("The cluster %s does not exist.", in.Spec.Cluster.UUID)
	}
	for _, n := range in.Spec.Resources.NICs {
		if _, ok := c.subnet(n.Subnet.UUID); !ok {
			return unprocessable("The subnet %s does not exist.", n.Subnet.UUID)
		}
	}
	for _, d := range in.Spec.Resources.Disks {
		if d.Source != nil && !c.known(c.options.Inventory.Images, d.Source.UUID) {
			return unprocessable("The image %s does not exist.", d.Source.UUID)
		}
	}
	if p := in.Metadata.Project; p != nil && !c.known(c.options.Inventory.Projects, p.UUID) {
		return unprocessable("The project %s does not exist.", p.UUID)
	}
	for key, value := range in.Metadata.Categories {
		if !c.hasCategory(key, value) {
			return refuse(http.StatusUnprocessableEntity, "CATEGORY_NAME_VALUE_MISMATCH", "The category %s has no value %s.", key, value)
		}
	}
	return nil
}
