package hollow

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // client metrics, as the kubelet's own main has them
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app"
	kubeletoptions "k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
)

// imageSize is the size of every image, in bytes. The kubelet rejects an image without a size.
const imageSize = 64 << 20

// run is one life of the kubelet: until ctx ends (nil) or the kubelet fails.
func run(ctx context.Context, o *options) error {
	root, err := prepareRoot(o.rootDir)
	if err != nil {
		return err
	}
	if err := o.placeOnNetwork(); err != nil {
		return err
	}
	endpoint, err := root.runtimeEndpoint()
	if err != nil {
		return err
	}
	runtime := fakeremote.NewFakeRemoteRuntime()
	runtime.ImageService.SetFakeImageSize(imageSize)
	if err := runtime.Start(endpoint); err != nil {
		return fmt.Errorf("starting the fake container runtime: %w", err)
	}
	defer runtime.Stop()

	config, err := o.configuration(root)
	if err != nil {
		return fmt.Errorf("building the kubelet's configuration: %w", err)
	}
	config.ContainerRuntimeEndpoint, config.ImageServiceEndpoint = endpoint, endpoint
	server := &kubeletoptions.KubeletServer{KubeletFlags: *o.flags(root), KubeletConfiguration: *config}
	tlsOptions, err := app.InitializeTLS(ctx, &server.KubeletFlags, &server.KubeletConfiguration)
	if err != nil {
		return fmt.Errorf("setting up TLS: %w", err)
	}
	return app.Run(ctx, server, o.dependencies(tlsOptions), utilfeature.DefaultFeatureGate)
}

// placeOnNetwork sets the node's address and port, unless the command line has them.
func (o *options) placeOnNetwork() error {
	if o.nodeIP == "" && o.cloudProvider == "" {
		o.nodeIP = chooseNodeIP()
	}
	if o.nodeIP == "" {
		klog.InfoS("No node IP: name servers will not be asked", "node", o.name)
		refuseNameServers()
	}
	if o.port != 0 {
		return nil
	}
	port, err := choosePort(o.address)
	if err != nil {
		return err
	}
	o.port = port
	return nil
}

func (o *options) flags(root root) *kubeletoptions.KubeletFlags {
	flags := kubeletoptions.NewKubeletFlags()
	flags.RootDirectory = root.dir
	flags.CertDirectory = root.path("pki")
	flags.HostnameOverride = o.name
	flags.NodeLabels = o.labels
	flags.NodeIP = o.nodeIP
	flags.KubeConfig = o.kubeconfig
	flags.BootstrapKubeconfig = o.bootstrapKubeconfig
	flags.CloudProvider = o.cloudProvider
	return flags
}

func (o *options) configuration(root root) (*kubeletconfig.KubeletConfiguration, error) {
	config, err := kubeletoptions.NewKubeletConfiguration()
	if err != nil {
		return nil, err
	}
	config.ProviderID = o.providerID
	config.MaxPods = o.maxPods
	config.RegisterNode = true
	config.RegisterWithTaints = o.parsedTaints
	config.NodeStatusUpdateFrequency = metav1.Duration{Duration: 5 * time.Second}
	config.StaticPodPath, config.PodLogsDir = root.path("static"), root.path("logs")
	config.VolumePluginDir = root.path("volume-plugins")
	o.secure(config)
	leaveHostAlone(config)
	return config, nil
}

// secure configures the server like a production node: certificates by CSR, no anonymous callers,
// authentication and authorization by the API server.
func (o *options) secure(config *kubeletconfig.KubeletConfiguration) {
	config.Address, config.Port = o.address, o.port
	config.ReadOnlyPort, config.HealthzPort = 0, 0
	config.RotateCertificates, config.ServerTLSBootstrap = true, true
	config.Authentication.X509.ClientCAFile = o.clientCAFile
	config.Authentication.Anonymous.Enabled = false
	config.Authentication.Webhook.Enabled = true
	config.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
}

// leaveHostAlone disables everything that reads or changes this machine: cgroups, swap, iptables (which a
// kubelet run by root would edit), disk accounting, resolv.conf and the OOM score.
func leaveHostAlone(config *kubeletconfig.KubeletConfiguration) {
	config.CgroupsPerQOS, config.CgroupRoot, config.EnforceNodeAllocatable = false, "", nil
	config.FailCgroupV1, config.FailSwapOn = false, false
	config.MakeIPTablesUtilChains = false
	config.LocalStorageCapacityIsolation = false
	config.EnableControllerAttachDetach = false
	config.EvictionHard = map[string]string{}
	config.ResolverConfig = ""
	config.OOMScoreAdj = 0
}
