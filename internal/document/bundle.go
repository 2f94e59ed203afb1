package document

// BuiltBundle is what winnow policy bundle prints as JSON.
type BuiltBundle struct {
	File string `json:"file"`
	BundleContent
	// RevisionFrom and SerialFrom say where those are from: flag, manifest, git, or digest. SerialFrom is empty where there is no serial.
	RevisionFrom string `json:"revision_from"`
	SerialFrom   string `json:"serial_from,omitempty"`
	Bytes        int    `json:"bytes"`
}

// BundleContent is what is in a bundle.
type BundleContent struct {
	Revision string   `json:"revision"`
	Serial   int64    `json:"serial,omitempty"`
	Digest   string   `json:"digest"`
	Roots    []string `json:"roots"`
	Files    int      `json:"files"`
	// Rules is how many rules it adds to those that it was loaded with.
	Rules  int  `json:"rules"`
	Signed bool `json:"signed"`
	// KeyID, Algorithm and Scope are those of the signature.
	KeyID     string `json:"key_id,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Scope     string `json:"scope,omitempty"`
}

// VerifiedBundle is what winnow policy verify prints as JSON.
type VerifiedBundle struct {
	File string `json:"file"`
	BundleContent
}
