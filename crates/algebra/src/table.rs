//! How a table is written: rows with names, and handles that are constants of those names.

/// Makes a list of declarations, and of its handle's type a constant for each.
macro_rules! table {
    (
        $list:ident: $Decl:ident of $Handle:ident,
        $($(#[doc = $doc:literal])* $constant:ident = $decl:expr;)*
    ) => {
        /// Every one of them, in the order of declaration.
        pub static $list: [$Decl; [$(stringify!($constant)),*].len()] = [$($decl),*];

        const _: () = {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Place { $($constant),* }

            impl $Handle {
                $($(#[doc = $doc])* pub const $constant: Self = Self(Place::$constant as u8);)*
            }
        };
    };
}

pub(crate) use table;
