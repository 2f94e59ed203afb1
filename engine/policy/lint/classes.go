package lint

// The classes of refusals: short and stable, for machines that filter, count or link them.
const (
	ClassRead       = "unreadable"
	ClassEmpty      = "empty"
	ClassManifest   = "manifest"
	ClassLimit      = "limit"
	ClassSyntax     = "syntax"
	ClassField      = "unknown-field"
	ClassType       = "type"
	ClassBuiltin    = "builtin"
	ClassUndefined  = "undefined"
	ClassRecursion  = "recursion"
	ClassCompile    = "compile"
	ClassPlace      = "place"
	ClassDuplicate  = "duplicate-package"
	ClassMissing    = "missing-rule"
	ClassReason     = "reason"
	ClassNegation   = "negation"
	ClassDisguise   = "disguised-negation"
	ClassWith       = "with"
	ClassPartial    = "partial-object"
	ClassParameter  = "parameter-field"
	ClassSprintf    = "sprintf"
	ClassSchemas    = "schemas"
	ClassCustom     = "custom-parameter"
	ClassCandidates = "candidates"
	ClassSummary    = "summary"
	ClassMetadata   = "metadata"
	ClassLiteral    = "literal"
	ClassData       = "data-file"
	ClassException  = "exception"
	ClassLayer      = "layer"
	ClassGrant      = "grant"
)

// Class is a class with what it means, in one sentence.
type Class struct{ ID, Short string }

// Classes lists all classes.
var Classes = []Class{
	{ClassRead, "A file or folder could not be read, or others can change it."},
	{ClassEmpty, "A file or folder holds no policy, or the policies together lack a whole family."},
	{ClassManifest, "The .manifest is malformed or asks for another version of Rego."},
	{ClassLimit, "A file, a nesting, a number or the work of loading it passes a limit."},
	{ClassSyntax, "The file is not Rego."},
	{ClassField, "A path below input leads to a field that the schema does not have."},
	{ClassType, "Values of different types are compared or passed."},
	{ClassBuiltin, "A built-in function is called that policies may not call."},
	{ClassUndefined, "A rule, function or path below data is used that does not exist."},
	{ClassRecursion, "A rule depends on itself."},
	{ClassCompile, "The strict compiler refuses it, such as an unused variable or import."},
	{ClassPlace, "The package is not that of its folder, or nothing asks for rules in that folder."},
	{ClassDuplicate, "Two trees define the same package."},
	{ClassMissing, "A package lacks a rule without which it is never asked."},
	{ClassReason, "A finding or objection does not have the form of a reason."},
	{ClassNegation, "A rule that reaps contains not: a missing fact would make it true."},
	{ClassDisguise, "A rule that reaps counts that nothing was found, or a condition asks about a template string: a missing fact would make it true."},
	{ClassWith, "A rule uses with outside of a test."},
	{ClassPartial, "An object is built key by key, which takes time that grows with its square."},
	{ClassParameter, "A function reads a field of its parameter, which the schema check cannot see."},
	{ClassSprintf, "A rule that keeps uses sprintf, which is undefined when a fact is missing."},
	{ClassSchemas, "METADATA brings a schema of its own."},
	{ClassCustom, "A parameter of one's own is declared or read wrongly."},
	{ClassCandidates, "METADATA names a class of candidates that does not exist."},
	{ClassSummary, "METADATA says wrongly how a person is told of a rule's objections."},
	{ClassMetadata, "A package or rule lacks METADATA with a title and a description."},
	{ClassLiteral, "A number in a rule is a parameter that nobody can change."},
	{ClassData, "A data file lies among the policies; rules read their input and nothing else."},
	{ClassException, "The exceptions are malformed, misplaced, or such that they would keep nothing."},
	{ClassLayer, "The layer.yaml of a tree is not at its root, malformed, or names what does not exist."},
	{ClassGrant, "A tree would reap more than a layer above it allows, which did not grant it by name."},
}
