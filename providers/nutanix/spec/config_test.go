package spec

import (
	"errors"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
)

const config = `{"cluster":{"type":"name","name":"a"},"image":{"type":"name","name":"rhcos"},"subnets":[{"type":"uuid","uuid":"u"}],"vcpusPerSocket":1,"vcpuSockets":4,
"memorySize":"16Gi","systemDiskSize":"120Gi"}`

// TestDecodeConfig: the fields that are invalid when a virtual machine is created from the spec.
func TestDecodeConfig(t *testing.T) {
	for _, r := range []struct{ reason, patch, field string }{
		{"the usual", `{}`, ""},
		{"secrets are the engine's", `{"credentialsSecret":null,"userDataSecret":null}`, ""},
		{"an unknown field, which the original ignores", `{"other":1}`, ""},
		{"a failure domain replaces the cluster and the subnets", `{"failureDomain":{"name":"fd"},"cluster":null,"subnets":null}`, ""},
		{"a failure domain without a name replaces nothing", `{"failureDomain":{"name":""},"cluster":null}`, "cluster.type"},
		{"no cluster", `{"cluster":null}`, "cluster.type"},
		{"no subnet", `{"subnets":[]}`, "subnets"},
		{"no image", `{"image":null}`, "image.type"},
		{"no socket", `{"vcpuSockets":0}`, "vcpuSockets"},
		{"no vCPU", `{"vcpusPerSocket":0}`, "vcpusPerSocket"},
		{"the least memory", `{"memorySize":"2Gi"}`, ""},
		{"less memory", `{"memorySize":"2047Mi"}`, "memorySize"},
		{"less memory by a part of a MiB, rounded down", `{"memorySize":"2147483647"}`, "memorySize"},
		{"a smaller disk", `{"systemDiskSize":"19Gi"}`, "systemDiskSize"},
		{"an unknown type of boot", `{"bootType":"BIOS"}`, "bootType"},
		{"a project without a name", `{"project":{"type":"name"}}`, "project.name"},
		{"a category without a value", `{"categories":[{"key":"a"}]}`, "categories[0].value"},
		{"a GPU without a device", `{"gpus":[{"type":"DeviceID"}]}`, "gpus[0].deviceID"},
		{"a small data disk", `{"dataDisks":[{"diskSize":"1Mi"}]}`, "dataDisks[0].diskSize"},
		{"a text for a number", `{"vcpuSockets":"four"}`, "vcpuSockets"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := DecodeConfig(admissiontest.Patched(t, config, r.patch))
			field := ""
			if e, ok := errors.AsType[*provider.Error](err); ok {
				field = e.Field
			}
			if (err != nil) != (r.field != "") || field != r.field {
				t.Errorf("field %q, error %v; want %q", field, err, r.field)
			}
		})
	}
}
