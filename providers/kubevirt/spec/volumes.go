package spec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdditionalVolume is a disk besides the one that is booted from. Exactly one of DataVolume and VolumeSource is given.
type AdditionalVolume struct {
	// Name is that of the disk; empty: disk-<index>.
	Name string `json:"name,omitempty"`
	// DataVolume is made with the virtual machine, and removed with it.
	DataVolume *DataVolume `json:"dataVolume,omitempty"`
	// VolumeSource is there already.
	VolumeSource *VolumeSource `json:"volumeSource,omitempty"`
}

// VolumeSource is something of the namespace that a disk shows. Exactly one is given.
type VolumeSource struct {
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
	ConfigMap             *ConfigMapSource                          `json:"configMap,omitempty"`
	Secret                *SecretSource                             `json:"secret,omitempty"`
}

// ConfigMapSource shows a ConfigMap as a disk.
type ConfigMapSource struct {
	Name        string `json:"name,omitempty"`
	Optional    *bool  `json:"optional,omitempty"`
	VolumeLabel string `json:"volumeLabel,omitempty"`
}

// SecretSource shows a secret as a disk.
type SecretSource struct {
	SecretName  string `json:"secretName,omitempty"`
	Optional    *bool  `json:"optional,omitempty"`
	VolumeLabel string `json:"volumeLabel,omitempty"`
}

// DataVolume is the spec of a DataVolume of cdi.kubevirt.io/v1beta1, with its names.
type DataVolume struct {
	// Source or SourceRef say what it is filled with. Exactly one is given.
	Source    *Source    `json:"source,omitempty"`
	SourceRef *SourceRef `json:"sourceRef,omitempty"`
	// PVC or Storage are the claim that is made for it. Exactly one is given; Storage leaves to CDI what the storage class is known for.
	PVC     *corev1.PersistentVolumeClaimSpec `json:"pvc,omitempty"`
	Storage *Storage                          `json:"storage,omitempty"`

	PriorityClassName string       `json:"priorityClassName,omitempty"`
	ContentType       string       `json:"contentType,omitempty"`
	Checkpoints       []Checkpoint `json:"checkpoints,omitempty"`
	FinalCheckpoint   bool         `json:"finalCheckpoint,omitempty"`
	Preallocation     *bool        `json:"preallocation,omitempty"`
}

// Storage is a claim whose modes CDI may choose.
type Storage struct {
	AccessModes      []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	Selector         *metav1.LabelSelector               `json:"selector,omitempty"`
	Resources        corev1.VolumeResourceRequirements   `json:"resources,omitzero"`
	VolumeName       string                              `json:"volumeName,omitempty"`
	StorageClassName *string                             `json:"storageClassName,omitempty"`
	VolumeMode       *corev1.PersistentVolumeMode        `json:"volumeMode,omitempty"`
	DataSource       *corev1.TypedLocalObjectReference   `json:"dataSource,omitempty"`
	DataSourceRef    *corev1.TypedObjectReference        `json:"dataSourceRef,omitempty"`
}

// Checkpoint is a stage of an import in several.
type Checkpoint struct {
	Previous string `json:"previous"`
	Current  string `json:"current"`
}

// SourceRef names a DataSource.
type SourceRef struct {
	Kind      string  `json:"kind"`
	Namespace *string `json:"namespace,omitempty"`
	Name      string  `json:"name"`
}

// Source says what a volume is filled with. Exactly one is given.
type Source struct {
	HTTP     *HTTPSource     `json:"http,omitempty"`
	S3       *S3Source       `json:"s3,omitempty"`
	GCS      *GCSSource      `json:"gcs,omitempty"`
	Registry *RegistrySource `json:"registry,omitempty"`
	// PVC and Snapshot are cloned. Without a namespace they are looked for beside the virtual machine.
	PVC      *ClonedSource  `json:"pvc,omitempty"`
	Snapshot *ClonedSource  `json:"snapshot,omitempty"`
	Upload   *struct{}      `json:"upload,omitempty"`
	Blank    *struct{}      `json:"blank,omitempty"`
	Imageio  *ImageIOSource `json:"imageio,omitempty"`
	VDDK     *VDDKSource    `json:"vddk,omitempty"`
}

// HTTPSource is a file of a web server.
type HTTPSource struct {
	URL                string   `json:"url"`
	SecretRef          string   `json:"secretRef,omitempty"`
	CertConfigMap      string   `json:"certConfigMap,omitempty"`
	ExtraHeaders       []string `json:"extraHeaders,omitempty"`
	SecretExtraHeaders []string `json:"secretExtraHeaders,omitempty"`
}

// S3Source is a file of S3.
type S3Source struct {
	URL           string `json:"url"`
	SecretRef     string `json:"secretRef,omitempty"`
	CertConfigMap string `json:"certConfigMap,omitempty"`
}

// GCSSource is a file of Google Cloud Storage.
type GCSSource struct {
	URL       string `json:"url"`
	SecretRef string `json:"secretRef,omitempty"`
}

// RegistrySource is an image of a container registry.
type RegistrySource struct {
	URL           *string   `json:"url,omitempty"`
	ImageStream   *string   `json:"imageStream,omitempty"`
	PullMethod    *string   `json:"pullMethod,omitempty"`
	SecretRef     *string   `json:"secretRef,omitempty"`
	CertConfigMap *string   `json:"certConfigMap,omitempty"`
	Platform      *Platform `json:"platform,omitempty"`
}

// Platform chooses one of an image of several.
type Platform struct {
	Architecture string `json:"architecture,omitempty"`
}

// ClonedSource is a claim, or a snapshot of one.
type ClonedSource struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// ImageIOSource is a disk of oVirt.
type ImageIOSource struct {
	URL           string `json:"url"`
	DiskID        string `json:"diskId"`
	SecretRef     string `json:"secretRef,omitempty"`
	CertConfigMap string `json:"certConfigMap,omitempty"`
}

// VDDKSource is a disk of vSphere.
type VDDKSource struct {
	URL          string `json:"url,omitempty"`
	UUID         string `json:"uuid,omitempty"`
	BackingFile  string `json:"backingFile,omitempty"`
	Thumbprint   string `json:"thumbprint,omitempty"`
	SecretRef    string `json:"secretRef,omitempty"`
	InitImageURL string `json:"initImageURL,omitempty"`
	ExtraArgs    string `json:"extraArgs,omitempty"`
}
