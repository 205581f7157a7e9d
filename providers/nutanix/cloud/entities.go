package cloud

import (
	"encoding/json"
	"time"
)

// reference refers to an entity.
type reference struct {
	Kind string `json:"kind"`
	UUID string `json:"uuid"`
	Name string `json:"name,omitempty"`
}

// metadata is the metadata of an entity, as read.
type metadata struct {
	UUID        string            `json:"uuid"`
	SpecVersion int               `json:"spec_version"`
	Created     time.Time         `json:"creation_time"`
	Categories  map[string]string `json:"categories"`
	// Mapping are the categories with all their values. Older versions of Prism Central do not have it.
	Mapping map[string][]string `json:"categories_mapping"`
}

// message is an error in the status of an entity.
type message struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// entity is an entity of any kind, as far as all kinds are alike.
type entity struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Name string `json:"name"`
	} `json:"spec"`
	Status struct {
		Name      string `json:"name"`
		Resources struct {
			Config struct {
				Services []string `json:"service_list"`
			} `json:"config"`
		} `json:"resources"`
	} `json:"status"`
}

func (e entity) uuid() string { return e.Metadata.UUID }

func (e entity) name() string {
	if e.Spec.Name != "" {
		return e.Spec.Name
	}
	return e.Status.Name
}

// vm is a virtual machine, as read.
type vm struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"spec"`
	Status struct {
		// State is the state of the last request: PENDING, RUNNING, COMPLETE or ERROR.
		State     string    `json:"state"`
		Messages  []message `json:"message_list"`
		Cluster   reference `json:"cluster_reference"`
		Resources struct {
			Power          string `json:"power_state"`
			Hypervisor     string `json:"hypervisor_type"`
			Sockets        int64  `json:"num_sockets"`
			VCPUsPerSocket int64  `json:"num_vcpus_per_socket"`
			MemoryMiB      int64  `json:"memory_size_mib"`
			NICs           []struct {
				Endpoints []struct {
					IP string `json:"ip"`
				} `json:"ip_endpoint_list"`
			} `json:"nic_list"`
		} `json:"resources"`
		Execution execution `json:"execution_context"`
	} `json:"status"`
}

func (v *vm) uuid() string { return v.Metadata.UUID }

// execution is the context of an accepted request. Its task is a text or, in some answers, a list.
type execution struct {
	Task json.RawMessage `json:"task_uuid"`
}

func (e execution) task() string {
	var one string
	if json.Unmarshal(e.Task, &one) == nil {
		return one
	}
	var all []string
	if json.Unmarshal(e.Task, &all) == nil && len(all) > 0 {
		return all[0]
	}
	return ""
}

// task is an operation of Prism Central.
type task struct {
	Status   string `json:"status"`
	Code     string `json:"error_code"`
	Detail   string `json:"error_detail"`
	Progress string `json:"progress_message"`
}

// The states of tasks that have ended.
const (
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
	aborted   = "ABORTED"
)

// host is a host of a cluster.
type host struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		Cluster   reference `json:"cluster_reference"`
		Resources struct {
			GPUs []hostGPU `json:"gpu_list"`
		} `json:"resources"`
	} `json:"status"`
}

func (h host) uuid() string { return h.Metadata.UUID }

// hostGPU is a GPU of a host.
type hostGPU struct {
	Name     string `json:"name"`
	DeviceID *int64 `json:"device_id"`
	Mode     string `json:"mode"`
	Vendor   string `json:"vendor"`
	Status   string `json:"status"`
}
