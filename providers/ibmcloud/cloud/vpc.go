package cloud

import "time"

// reference names a resource of VPC, in requests and in answers.
type reference struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	CRN     string `json:"crn,omitempty"`
	Address string `json:"address,omitempty"` // of a reserved IP
}

// instance is an instance, as far as the provider reads it.
type instance struct {
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	CRN           string            `json:"crn"`
	Status        string            `json:"status"`
	StatusReasons []statusReason    `json:"status_reasons"`
	CreatedAt     time.Time         `json:"created_at"`
	Profile       reference         `json:"profile"`
	Zone          reference         `json:"zone"`
	VPC           reference         `json:"vpc"`
	ResourceGroup reference         `json:"resource_group"`
	DedicatedHost *reference        `json:"dedicated_host"`
	Boot          volumeAttachment  `json:"boot_volume_attachment"`
	Primary       *networkInterface `json:"primary_network_interface"`
}

// statusReason is a reason for the status of an instance.
type statusReason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// volumeAttachment connects a volume with an instance. Volume is nil until the volume is provisioned.
type volumeAttachment struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Volume *reference `json:"volume"`
}

type networkInterface struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	PrimaryIP reference `json:"primary_ip"`
}

// prototype is the request for an instance.
type prototype struct {
	Name            string             `json:"name"`
	Zone            reference          `json:"zone"`
	VPC             reference          `json:"vpc"`
	Image           reference          `json:"image"`
	Profile         reference          `json:"profile"`
	ResourceGroup   reference          `json:"resource_group"`
	Primary         interfacePrototype `json:"primary_network_interface"`
	Boot            bootPrototype      `json:"boot_volume_attachment"`
	PlacementTarget *reference         `json:"placement_target,omitempty"`
	UserData        string             `json:"user_data,omitempty"`
}

type interfacePrototype struct {
	Name           string      `json:"name"`
	Subnet         reference   `json:"subnet"`
	SecurityGroups []reference `json:"security_groups,omitempty"`
}

type bootPrototype struct {
	Name   string          `json:"name"`
	Delete bool            `json:"delete_volume_on_instance_delete"`
	Volume volumePrototype `json:"volume"`
}

type volumePrototype struct {
	Name      string     `json:"name"`
	Profile   reference  `json:"profile"`
	Capacity  int64      `json:"capacity,omitempty"`
	IOPS      int64      `json:"iops,omitempty"`
	Bandwidth int64      `json:"bandwidth,omitempty"`
	Key       *reference `json:"encryption_key,omitempty"`
}

// instanceProfile is the size of an instance. Its numbers have a value if they are fixed, and otherwise a default.
type instanceProfile struct {
	Name         string  `json:"name"`
	VCPU         number  `json:"vcpu_count"`
	MemoryGiB    number  `json:"memory"`
	GPU          number  `json:"gpu_count"`
	GPUMaker     choices `json:"gpu_manufacturer"`
	Architecture struct {
		Value string `json:"value"`
	} `json:"vcpu_architecture"`
}

type number struct {
	Value   int64 `json:"value"`
	Default int64 `json:"default"`
}

func (n number) get() int64 { return max(n.Value, n.Default) }

type choices struct {
	Values []string `json:"values"`
}
