package hollow

import (
	cadvisorapi "github.com/google/cadvisor/lib/model"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubelet/server"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// dependencies are the kubelet's interfaces to the machine, all of them fake. The API clients are left out:
// the kubelet creates real ones itself, after its real TLS bootstrap.
func (o *options) dependencies(tls *server.TLSOptions) *kubelet.Dependencies {
	return &kubelet.Dependencies{
		TLSOptions:                tls,
		TracerProvider:            noop.NewTracerProvider(),
		CAdvisorInterface:         &machine{Fake: cadvisortest.Fake{NodeName: o.name}, cores: o.cores, memory: o.memoryBytes, pages: o.further.pages},
		ContainerManager:          newManager(o.further),
		OSInterface:               &containertest.FakeOS{},
		OOMAdjuster:               oom.NewFakeOOMAdjuster(),
		Mounter:                   &mount.FakeMounter{},
		Subpather:                 &subpath.FakeSubpath{},
		HostUtil:                  hostutil.NewFakeHostUtil(nil),
		VolumePlugins:             volumePlugins(),
		PodStartupLatencyTracker:  kubeletutil.NewPodStartupLatencyTracker(),
		NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(klog.Background()),
		Recorder:                  &record.FakeRecorder{},
	}
}

// volumePlugins are the volumes that nearly every pod has; a pod with another kind stays pending.
func volumePlugins() []volume.VolumePlugin {
	var plugins []volume.VolumePlugin
	plugins = append(plugins, emptydir.ProbeVolumePlugins()...)
	plugins = append(plugins, hostpath.FakeProbeVolumePlugins(volume.VolumeConfig{})...)
	plugins = append(plugins, secret.ProbeVolumePlugins()...)
	plugins = append(plugins, configmap.ProbeVolumePlugins()...)
	plugins = append(plugins, projected.ProbeVolumePlugins()...)
	return plugins
}

// machine is the hardware that the node reports.
type machine struct {
	cadvisortest.Fake
	cores  int
	memory uint64 // bytes
	pages  []cadvisorapi.HugePagesInfo
}

// MachineInfo implements cadvisor.Interface.
func (m *machine) MachineInfo(klog.Logger) (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{
		NumCores:         m.cores,
		NumPhysicalCores: m.cores,
		NumSockets:       1,
		MemoryCapacity:   m.memory,
		HugePages:        m.pages,
		MachineID:        m.NodeName,
		SystemUUID:       m.NodeName,
		BootID:           m.NodeName,
	}, nil
}

// manager is a container manager that manages nothing and reports the machine's capacity.
type manager struct {
	cm.ContainerManager
	capacity v1.ResourceList // except extended resources, which the stub reports
}

func newManager(has further) manager {
	return manager{ContainerManager: cm.NewStubContainerManagerWithDevicePluginResource(has.devices), capacity: has.storage}
}

// GetCapacity implements cm.ContainerManager. The ephemeral storage is the declared one, although the kubelet
// does not account for it.
func (m manager) GetCapacity(klog.Logger, bool) v1.ResourceList { return m.capacity }

// VersionInfo implements cadvisor.Interface.
func (m *machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: "6.1.0-hollow", ContainerOsVersion: "Hollow Linux"}, nil
}
