package spec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdditionalVolume is a disk besides the boot disk. Exactly one of DataVolume and VolumeSource is set.
type AdditionalVolume struct {
	// Name is the name of the disk; default: disk-<index>.
	Name string `json:"name,omitempty"`
	// DataVolume is created and deleted with the virtual machine.
	DataVolume *DataVolume `json:"dataVolume,omitempty"`
	// VolumeSource already exists.
	VolumeSource *VolumeSource `json:"volumeSource,omitempty"`
}

// VolumeSource is an object of the namespace that is attached as a disk. Exactly one field is set.
type VolumeSource struct {
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
	ConfigMap             *ConfigMapSource                          `json:"configMap,omitempty"`
	Secret                *SecretSource                             `json:"secret,omitempty"`
}

// ConfigMapSource attaches a ConfigMap as a disk.
type ConfigMapSource struct {
	Name        string `json:"name,omitempty"`
	Optional    *bool  `json:"optional,omitempty"`
	VolumeLabel string `json:"volumeLabel,omitempty"`
}

// SecretSource attaches a Secret as a disk.
type SecretSource struct {
	SecretName  string `json:"secretName,omitempty"`
	Optional    *bool  `json:"optional,omitempty"`
	VolumeLabel string `json:"volumeLabel,omitempty"`
}

// DataVolume is the spec of a DataVolume of cdi.kubevirt.io/v1beta1, with the same field names.
type DataVolume struct {
	// Source or SourceRef is the source of the data. Exactly one is set.
	Source    *Source    `json:"source,omitempty"`
	SourceRef *SourceRef `json:"sourceRef,omitempty"`
	// PVC or Storage is the claim of the volume. Exactly one is set. With Storage, CDI chooses the modes that
	// the storage class supports.
	PVC     *corev1.PersistentVolumeClaimSpec `json:"pvc,omitempty"`
	Storage *Storage                          `json:"storage,omitempty"`

	PriorityClassName string       `json:"priorityClassName,omitempty"`
	ContentType       string       `json:"contentType,omitempty"`
	Checkpoints       []Checkpoint `json:"checkpoints,omitempty"`
	FinalCheckpoint   bool         `json:"finalCheckpoint,omitempty"`
	Preallocation     *bool        `json:"preallocation,omitempty"`
}

// Storage is a claim whose access mode and volume mode CDI may choose.
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

// Checkpoint is one stage of a multi-stage import.
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

// Source is the source of a volume's data. Exactly one field is set.
type Source struct {
	HTTP     *HTTPSource     `json:"http,omitempty"`
	S3       *S3Source       `json:"s3,omitempty"`
	GCS      *GCSSource      `json:"gcs,omitempty"`
	Registry *RegistrySource `json:"registry,omitempty"`
	// PVC and Snapshot are cloned. The default namespace is that of the virtual machine.
	PVC      *ClonedSource  `json:"pvc,omitempty"`
	Snapshot *ClonedSource  `json:"snapshot,omitempty"`
	Upload   *struct{}      `json:"upload,omitempty"`
	Blank    *struct{}      `json:"blank,omitempty"`
	Imageio  *ImageIOSource `json:"imageio,omitempty"`
	VDDK     *VDDKSource    `json:"vddk,omitempty"`
}

// HTTPSource is a file on a web server.
type HTTPSource struct {
	URL                string   `json:"url"`
	SecretRef          string   `json:"secretRef,omitempty"`
	CertConfigMap      string   `json:"certConfigMap,omitempty"`
	ExtraHeaders       []string `json:"extraHeaders,omitempty"`
	SecretExtraHeaders []string `json:"secretExtraHeaders,omitempty"`
}

// S3Source is an object in S3.
type S3Source struct {
	URL           string `json:"url"`
	SecretRef     string `json:"secretRef,omitempty"`
	CertConfigMap string `json:"certConfigMap,omitempty"`
}

// GCSSource is an object in Google Cloud Storage.
type GCSSource struct {
	URL       string `json:"url"`
	SecretRef string `json:"secretRef,omitempty"`
}

// RegistrySource is an image in a container registry.
type RegistrySource struct {
	URL           *string   `json:"url,omitempty"`
	ImageStream   *string   `json:"imageStream,omitempty"`
	PullMethod    *string   `json:"pullMethod,omitempty"`
	SecretRef     *string   `json:"secretRef,omitempty"`
	CertConfigMap *string   `json:"certConfigMap,omitempty"`
	Platform      *Platform `json:"platform,omitempty"`
}

// Platform selects an image of a multi-platform image.
type Platform struct {
	Architecture string `json:"architecture,omitempty"`
}

// ClonedSource is a claim, or a snapshot of a claim.
type ClonedSource struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// ImageIOSource is an oVirt disk.
type ImageIOSource struct {
	URL           string `json:"url"`
	DiskID        string `json:"diskId"`
	SecretRef     string `json:"secretRef,omitempty"`
	CertConfigMap string `json:"certConfigMap,omitempty"`
}

// VDDKSource is a vSphere disk.
type VDDKSource struct {
	URL          string `json:"url,omitempty"`
	UUID         string `json:"uuid,omitempty"`
	BackingFile  string `json:"backingFile,omitempty"`
	Thumbprint   string `json:"thumbprint,omitempty"`
	SecretRef    string `json:"secretRef,omitempty"`
	InitImageURL string `json:"initImageURL,omitempty"`
	ExtraArgs    string `json:"extraArgs,omitempty"`
}
